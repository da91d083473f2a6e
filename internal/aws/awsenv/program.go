package awsenv

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool"
	"github.com/dormouse-dev/dormouse/internal/tool/httptool"
)

// Register adds what a program brings along: its tools and hooks. It is the same in every function
// of a stack, since which version of an agent fits must not depend on who asks.
type Register func(*tool.Registry, *hook.Registry) error

// Reach is what the function that works has beyond the stack. The others have none, and link
// nothing of it.
type Reach struct {
	// Secrets finds the secrets of definitions. Nil: the environment has them.
	Secrets secret.Source

	// Connect makes what reaches others: providers of models and bodies of tools, by their
	// names. It asks no server anything.
	Connect func(Near) (map[string]program.Provider, map[string]program.Bodies)

	// Control yields and cancels runs from outside; the zero value does neither.
	Control engine.Controls

	// Command is what the program is called that a person answers with, in the hints of the
	// log. Empty is "dormouse".
	Command string
}

// Near is what such things are made with.
type Near struct {
	Settings
	Secrets secret.Source
	HTTP    *httptool.Caller // which knows what addresses may be reached
	Clock   machine.Clock
	Random  machine.Random
	Logger  *slog.Logger
}

// behind is what this program has behind definitions. Without a reach it runs nothing. There is no
// directory of agents: definitions come out of the table.
func behind(s Settings, register Register, reach *Reach, log *slog.Logger) (program.Program, error) {
	private, err := netguard.ReadPrivate(s.PrivateHosts)
	if err != nil {
		return program.Program{}, fmt.Errorf("DORMOUSE_PRIVATE_HOSTS: %w", err)
	}
	near := Near{Settings: s, Secrets: secret.Environment(os.Getenv), Logger: log}
	if reach != nil && reach.Secrets != nil {
		near.Secrets = reach.Secrets
	}
	near.HTTP = httptool.New(httptool.Options{Clock: machine.Clock{}, Random: machine.Random{}, Private: private, Secrets: near.Secrets})
	p := program.Program{Tools: tool.NewRegistry(log), Hooks: hook.NewRegistry(), Policy: s.Policy, Clock: machine.Clock{}, HTTP: near.HTTP, Idle: reach == nil}
	if reach != nil && reach.Connect != nil {
		p.Models, p.Bodies = reach.Connect(near)
	}
	return p, register(p.Tools, p.Hooks)
}
