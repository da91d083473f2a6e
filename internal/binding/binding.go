// Package binding puts a program that was written against the public packages into the registries
// that the runtime reads. It translates, and decides nothing.
package binding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Binding is a program, with what it opened for each data directory. Safe for concurrent use.
type Binding struct {
	program dormouse.Program

	mu     sync.Mutex
	opened map[string]dormouse.Program
}

// New binds p. What is wrong with it is said when its parts are registered.
func New(p dormouse.Program) *Binding {
	return &Binding{program: p, opened: map[string]dormouse.Program{}}
}

// Tools registers the program's tools, those that it opens for the data directory among them.
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

// Hooks registers the program's hooks, effects and memories, likewise.
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

// InFunction is the data directory in a function: only the directory for temporary files can be
// written to.
func InFunction() string { return os.TempDir() }

// Lambda registers everything in a function.
func (b *Binding) Lambda(tools *tool.Registry, hooks *hook.Registry) error {
	return errors.Join(b.Tools(tools, InFunction()), b.Hooks(hooks, InFunction()))
}

// Control is the program's control of runs, or the one that it opens for the data directory.
func (b *Binding) Control(data string) (engine.Controls, error) {
	parts, err := b.parts(data)
	return engine.Controls{ShouldYield: asked(parts.Control.ShouldYield), IsCancelled: asked(parts.Control.IsCancelled)}, err
}

// asked is a question as the engine asks it.
func asked(f func(context.Context, dormouse.RunRef) (bool, error)) func(context.Context, engine.RunRef) (bool, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, run engine.RunRef) (bool, error) {
		return f(ctx, dormouse.RunRef{Tenant: run.Tenant, Thread: run.Thread, ID: run.Run, Agent: run.Agent})
	}
}

// parts are those of the program and of what it opens, which it does once for each directory.
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
			return dormouse.Program{}, fmt.Errorf("the program's parts for the data directory %s: %w", data, err)
		}
		if more.Open != nil {
			return dormouse.Program{}, errors.New("what Open returns has an Open itself; return all parts at once")
		}
		if controls(all) && controls(more) {
			return dormouse.Program{}, errors.New("the program has a Control, and what Open returns has one, too; keep one of them")
		}
		all = joined(all, more)
	}
	b.opened[data] = all
	return all, nil
}

func controls(p dormouse.Program) bool {
	return p.Control.ShouldYield != nil || p.Control.IsCancelled != nil
}

// joined leaves both as they are.
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
