// Package binding puts a program that was written against the public packages into the registries that the runtime reads. It translates,
// and decides nothing.
package binding

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/dormouse-dev/dormouse"
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

// Lambda registers everything in a function, where only the directory for temporary files can be written to.
func (b *Binding) Lambda(tools *tool.Registry, hooks *hook.Registry) error {
	return errors.Join(b.Tools(tools, os.TempDir()), b.Hooks(hooks, os.TempDir()))
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
		all = joined(all, more)
	}
	b.opened[data] = all
	return all, nil
}

// joined leaves both as they are.
func joined(a, b dormouse.Program) dormouse.Program {
	a.Tools = append(a.Tools[:len(a.Tools):len(a.Tools)], b.Tools...)
	a.Hooks = append(a.Hooks[:len(a.Hooks):len(a.Hooks)], b.Hooks...)
	a.Effects = append(a.Effects[:len(a.Effects):len(a.Effects)], b.Effects...)
	a.Memories = append(a.Memories[:len(a.Memories):len(a.Memories)], b.Memories...)
	return a
}
