package tool

import (
	"fmt"
	"log/slog"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Registry holds the functions of a program by name. Register everything first; after that it is
// safe for concurrent use.
type Registry struct {
	log       *slog.Logger
	functions map[string]Function
}

// NewRegistry returns an empty registry. Panics in bodies are logged to log.
func NewRegistry(log *slog.Logger) *Registry {
	return &Registry{log: log, functions: map[string]Function{}}
}

// Register adds functions. It rejects a name that is already taken and keeps the functions before
// it.
func (r *Registry) Register(functions ...Function) error {
	for _, f := range functions {
		if _, taken := r.functions[f.spec.Name]; taken {
			return fmt.Errorf("tool: %q is registered twice", f.spec.Name)
		}
		f.log = r.log
		r.functions[f.spec.Name] = f
	}
	return nil
}

// Lookup returns the function registered under name.
func (r *Registry) Lookup(name string) (Function, bool) {
	f, ok := r.functions[name]
	return f, ok
}

// Specs returns the specs of all functions, by name.
func (r *Registry) Specs() map[string]core.ToolSpec {
	specs := make(map[string]core.ToolSpec, len(r.functions))
	for name, f := range r.functions {
		specs[name] = f.spec
	}
	return specs
}
