package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/httptool"
)

// quiet is for components that are built only to be checked.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// lacking reports what agents need and this program lacks, and every other reason why it can't run
// them.
func (a *app) lacking(agents []agentfile.Surveyed, policy *agent.Permissions) (problems []agentfile.Problem, err error) {
	err = withScratch(func(dir string) error {
		o := local.Options{Data: dir, Commands: true, Logger: quiet()}
		if err := a.Register(&o); err != nil {
			return err
		}
		for _, d := range agents {
			found := lacks(d, o)
			if len(found) == 0 {
				found = unbuilt(d, o, policy)
			}
			problems = append(problems, found...)
		}
		return nil
	})
	return problems, err
}

// lacks are the names in an agent that are not registered.
func lacks(d agentfile.Surveyed, o local.Options) []agentfile.Problem {
	needs := d.Needs()
	var problems []agentfile.Problem
	for _, sort := range []struct {
		noun, key   string
		wants, have []string
	}{
		{"function", "go", needs.Functions, slices.Sorted(maps.Keys(o.Tools.Specs()))},
		{"hook", "hooks", needs.Hooks, o.Hooks.Hooks()},
		{"memory", "memory", needs.Memories, o.Hooks.Memories()},
		{"effect", "go", needs.Effects, o.Hooks.Effects()},
	} {
		for _, name := range sort.wants {
			if !slices.Contains(sort.have, name) {
				problems = append(problems, agentfile.NewProblem(d.File, d.Line(sort.key, name), lack(sort.noun, name, sort.have)))
			}
		}
	}
	return problems
}

func lack(noun, name string, have []string) string {
	instead := "remove it"
	if len(have) > 0 {
		instead = "name one it has (" + strings.Join(have, ", ") + ")"
	}
	return fmt.Sprintf("this program has no %s %q; %s, or build a program that registers it", noun, name, instead)
}

// unbuilt is why a server couldn't build the agent; nothing if it could.
func unbuilt(d agentfile.Surveyed, o local.Options, policy *agent.Permissions) []agentfile.Problem {
	stored := engine.Definition{Tenant: "check", Name: d.Name, Digest: d.Digest(), Body: d.Encode()}
	p, err := o.Program()
	if err != nil {
		return agentfile.Problems(d.File, err)
	}
	p.Policy, p.Dir = policy, filepath.Dir(d.File)
	_, err = program.NewAgents(shelf{stored}, p).Load(context.Background(), engine.Pin{Tenant: stored.Tenant, Name: d.Name, Version: stored.Digest})
	return agentfile.Problems(d.File, err)
}

// note is a remark about an agent file that is not an error.
type note struct {
	File string `json:"file"`
	Note string `json:"note"`
}

// demands are the secrets, hosts, commands and mail that a server in this environment would lack.
func (a *app) demands(agents []agentfile.Surveyed) []note {
	notes := demandsOf(agents, secret.Environment(a.Opts.Getenv))
	for _, d := range agents {
		for _, sends := range program.Codes(d.Definition) {
			notes = append(notes, note{d.File, sends})
		}
	}
	return notes
}

// demandsOf are the demands of a server with these secrets that allows neither private hosts nor
// commands.
func demandsOf(agents []agentfile.Surveyed, secrets secret.Source) (notes []note) {
	caller := httptool.New(httptool.Options{Clock: machine.Clock{}, Random: machine.Random{}, Secrets: secrets})
	for _, d := range agents {
		for _, lack := range caller.Lacks(d.Definition) {
			notes = append(notes, note{d.File, lack})
		}
		for _, runs := range program.Commands(d.Definition) {
			notes = append(notes, note{d.File, runs})
		}
	}
	return notes
}

// shelf is a store with the one definition that is checked. It stores nothing.
type shelf struct{ one engine.Definition }

var _ program.Definitions = shelf{}

func (s shelf) Definition(context.Context, string, string, string) (engine.Definition, error) {
	return s.one, nil
}

func (s shelf) Newest(context.Context, string, string) (string, error) { return s.one.Digest, nil }

func (s shelf) Current(context.Context, string, string) (engine.Definition, error) {
	return s.one, nil
}

func (s shelf) Deployed(context.Context, string) ([]engine.Definition, error) {
	return []engine.Definition{s.one}, nil
}

var errShelf = errors.New("a check stores and deploys nothing")

func (shelf) PutDefinition(context.Context, engine.Definition) error { return errShelf }

func (shelf) Deploy(context.Context, string, string, string) error { return errShelf }

func (shelf) Undeploy(context.Context, string, string) error { return errShelf }
