package awsenv

import (
	"log/slog"
	"os"

	"github.com/dormouse-dev/dormouse/internal/engine/runcontrol"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool"
	"github.com/dormouse-dev/dormouse/internal/tool/httptool"
)

// Register adds the tools and hooks of a program. It is the same in every function of a stack,
// because the validity of an agent version must not depend on the function.
type Register func(*tool.Registry, *hook.Registry) error

// Dependencies are what the step function uses outside the stack. The other functions have none of
// it and do not link it.
type Dependencies struct {
	// Secrets finds the secrets of definitions; nil reads the environment.
	Secrets secret.Source

	// Connect creates what definitions reach outside the stack. It makes no network request.
	Connect func(ConnectOptions) Connected

	// Control yields and cancels runs from outside; the zero value does neither.
	Control runcontrol.Controls

	// Command is the name of the command in the hints of the log; empty means "dormouse".
	Command string
}

// Connected is what definitions reach outside the stack; see [program.Program].
type Connected struct {
	Models map[string]program.Provider
	Bodies map[string]program.Bodies
	Peers  program.Peers
}

// ConnectOptions are what Connect needs.
type ConnectOptions struct {
	Settings
	Secrets secret.Source
	HTTP    *httptool.Caller // decides which addresses may be reached
	Clock   machine.Clock
	Random  machine.Random
	Logger  *slog.Logger
}

// assemble returns the program that implements the agents. With a nil deps it runs nothing. There
// is no directory of agents: definitions come from the table.
func assemble(s Settings, register Register, deps *Dependencies, log *slog.Logger) (program.Program, error) {
	options := ConnectOptions{Settings: s, Secrets: secret.Environment(os.Getenv), Logger: log}
	if deps != nil && deps.Secrets != nil {
		options.Secrets = deps.Secrets
	}
	options.HTTP = httptool.New(httptool.Options{Clock: machine.Clock{}, Random: machine.Random{}, Private: s.Private, Secrets: options.Secrets})
	p := program.Program{Tools: tool.NewRegistry(log), Hooks: hook.NewRegistry(), Policy: s.Policy, Prices: s.Prices, Clock: machine.Clock{}, HTTP: options.HTTP, Idle: deps == nil}
	if deps != nil && deps.Connect != nil {
		made := deps.Connect(options)
		p.Models, p.Bodies, p.Peers = made.Models, made.Bodies, made.Peers
	}
	return p, register(p.Tools, p.Hooks)
}
