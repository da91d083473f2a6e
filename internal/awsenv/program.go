package awsenv

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	nightshift "github.com/dormouse-dev/dormouse/examples/night-shift"
	refunddesk "github.com/dormouse-dev/dormouse/examples/refund-desk"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/httptool"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// behind is what this program has behind definitions, in every function alike: which version of an agent fits must not depend on who asks.
// HTTP tools reach public addresses, and others only where the settings name them, and read their secrets from the environment. There is no directory of agents: definitions come
// out of the table.
func behind(s Settings, log *slog.Logger) (program.Program, error) {
	private, err := httptool.ReadPrivate(s.PrivateHosts)
	if err != nil {
		return program.Program{}, fmt.Errorf("DORMOUSE_PRIVATE_HOSTS: %w", err)
	}
	p := program.Program{Tools: tool.NewRegistry(log), Hooks: hook.NewRegistry(), Policy: s.Policy, Clock: machine.Clock{},
		HTTP: httptool.New(httptool.Options{Clock: machine.Clock{}, Random: machine.Random{}, Private: private})}
	return p, register(p.Tools, p.Hooks)
}

// register adds the tools and hooks of the examples, so that they run as they are. Yours go here, and into cmd/dormouse.
func register(tools *tool.Registry, hooks *hook.Registry) error {
	return errors.Join(
		refunddesk.Register(tools, os.TempDir()), // the ledger of the example is a file; a function has no other place for one
		nightshift.Register(tools),
		nightshift.RegisterHooks(hooks),
	)
}
