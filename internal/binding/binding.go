// Package binding registers a [dormouse.Program], written against the public packages, with the
// registries that the runtime reads. It translates and makes no decisions.
package binding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/runcontrol"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Binding is a program, together with the parts it opened for each data directory. It is safe for
// concurrent use.
type Binding struct {
	program dormouse.Program

	mu     sync.Mutex
	opened map[string]dormouse.Program
}

// New binds p. An invalid program is reported when its parts are registered.
func New(p dormouse.Program) *Binding {
	return &Binding{program: p, opened: map[string]dormouse.Program{}}
}

// Tools registers the program's tools, including those that it opens for the data directory.
func (b *Binding) Tools(r *tool.Registry, data string) error {
	parts, err := b.parts(data)
	if err != nil {
		return err
	}
	for _, t := range parts.Tools {
		f, err := function(t)
		if err == nil {
			err = r.Register(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Hooks registers the program's hooks, effects and memories, including those that it opens for the
// data directory.
func (b *Binding) Hooks(r *hook.Registry, data string) error {
	parts, err := b.parts(data)
	if err != nil {
		return err
	}
	var wrong []error
	for _, h := range parts.Hooks {
		wrong = append(wrong, registerHook(r, h))
	}
	for _, e := range parts.Effects {
		wrong = append(wrong, registerEffect(r, e))
	}
	for _, m := range parts.Memories {
		wrong = append(wrong, registerMemory(r, m))
	}
	return errors.Join(wrong...)
}

// InFunction returns the data directory of a Lambda function: the directory for temporary files,
// the only one that is writable.
func InFunction() string { return os.TempDir() }

// Lambda registers all parts of the program in a Lambda function.
func (b *Binding) Lambda(tools *tool.Registry, hooks *hook.Registry) error {
	return errors.Join(b.Tools(tools, InFunction()), b.Hooks(hooks, InFunction()))
}

// Control returns the program's control of runs, or the one that the program opens for the data
// directory.
func (b *Binding) Control(data string) (runcontrol.Controls, error) {
	parts, err := b.parts(data)
	return runcontrol.Controls{ShouldYield: asked(parts.Control.ShouldYield), IsCancelled: asked(parts.Control.IsCancelled)}, err
}

// asked adapts one function of a control to the engine.
func asked(f func(context.Context, dormouse.RunRef) (bool, error)) func(context.Context, engine.RunRef) (bool, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, run engine.RunRef) (bool, error) {
		return f(ctx, dormouse.RunRef{Tenant: run.Tenant, Thread: run.Thread, ID: run.Run, Agent: run.Agent})
	}
}

// parts returns the parts of the program and of what it opens. It opens each directory once.
func (b *Binding) parts(data string) (dormouse.Program, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if all, done := b.opened[data]; done {
		return all, nil
	}
	all := b.program
	if all.Open != nil {
		more, err := all.Open(data)
		if err != nil {
			return dormouse.Program{}, fmt.Errorf("the program cannot open the data directory %s: %w", data, err)
		}
		if more.Open != nil {
			return dormouse.Program{}, errors.New("the program that Open returns has an Open itself; return all parts at once")
		}
		if controls(all) && controls(more) {
			return dormouse.Program{}, errors.New("both the program and the program that Open returns have a Control; keep one of them")
		}
		all = joined(all, more)
	}
	b.opened[data] = all
	return all, nil
}

func controls(p dormouse.Program) bool {
	return p.Control.ShouldYield != nil || p.Control.IsCancelled != nil
}

// joined returns the parts of both and changes neither.
func joined(a, b dormouse.Program) dormouse.Program {
	a.Tools = append(a.Tools[:len(a.Tools):len(a.Tools)], b.Tools...)
	a.Hooks = append(a.Hooks[:len(a.Hooks):len(a.Hooks)], b.Hooks...)
	a.Effects = append(a.Effects[:len(a.Effects):len(a.Effects)], b.Effects...)
	a.Memories = append(a.Memories[:len(a.Memories):len(a.Memories)], b.Memories...)
	if controls(b) {
		a.Control = b.Control
	}
	return a
}
