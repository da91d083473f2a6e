package local

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/model/openai"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/a2atool"
	"github.com/dormouse-dev/dormouse/internal/tool/httptool"
	"github.com/dormouse-dev/dormouse/internal/tool/mcptool"
)

// Program is what definitions are run with: what the options bring, and what needs nothing but a
// network, which are endpoints of chat completions, HTTP requests, MCP servers and agents that
// speak A2A. It asks no server anything.
func (o Options) Program() (program.Program, error) {
	if o.Secrets == nil {
		o.Secrets = secret.Environment(os.Getenv)
	}
	kept := secret.Keep(o.Secrets, secret.OfEnvironment(os.Environ()))
	o.Secrets = kept.Source
	caller := httptool.New(httptool.Options{Clock: machine.Clock{}, Random: machine.Random{}, Private: o.Private, Secrets: o.Secrets})
	p := program.Program{Tools: o.Tools, Hooks: o.Hooks, Dir: o.Agents, Home: cmp.Or(o.Tenant, access.Tenant), Clock: machine.Clock{}, HTTP: caller,
		Commands: o.Commands, Codes: o.Mail.From.Address != "", Hidden: func() secret.Values { return withLinkKeys(kept.Values(), o.Data) },
		Models: map[string]program.Provider{agent.ProviderOpenAI: o.chat(caller.Endpoint)},
		Bodies: map[string]program.Bodies{program.BodyMCP: o.servers(caller.Client)}, Peers: o.overA2A(caller.Peer)}
	maps.Copy(p.Models, o.Models)
	maps.Copy(p.Bodies, o.Bodies)
	if o.Peers != nil {
		p.Peers = o.Peers
	}
	if p.Hooks == nil {
		p.Hooks = hook.NewRegistry()
	}
	if err := o.readPrices(&p); err != nil {
		return p, err
	}
	if o.Policy == "" {
		return p, nil
	}
	text, err := os.ReadFile(o.Policy)
	if err != nil {
		return p, fmt.Errorf("reading the policy: %w", err)
	}
	policy, err := agentfile.ParsePolicy(o.Policy, text)
	p.Policy = &policy
	if err == nil {
		p.Asking, err = agentfile.ParseAsking(o.Policy, text)
	}
	return p, err
}

// readPrices reads the operator's table of prices, if there is one.
func (o Options) readPrices(p *program.Program) error {
	if o.Prices == "" {
		return nil
	}
	text, err := os.ReadFile(o.Prices)
	if err != nil {
		return fmt.Errorf("reading the prices: %w", err)
	}
	p.Prices, err = agentfile.ParsePrices(o.Prices, text)
	return err
}

// chat is the provider of models behind endpoints of chat completions.
func (o Options) chat(client func(agent.Model) *http.Client) program.Provider {
	return func(d agent.Definition) (engine.Model, error) {
		m, err := openai.New(openai.Options{Model: d.Model, HTTP: client(d.Model), Secrets: o.Secrets, Clock: machine.Clock{}, Random: machine.Random{},
			Logger: o.Logger})
		if err != nil {
			// and no model: a nil one in an interface is none that is nil
			return nil, err
		}
		return m, nil
	}
}

func (o Options) servers(client func(agent.Server) *http.Client) program.Bodies {
	tools := mcptool.New(mcptool.Options{HTTP: client, Secrets: o.Secrets, Clock: machine.Clock{}, Random: machine.Random{}, Logger: o.Logger, Version: o.Version})
	return tools.Body
}

func (o Options) overA2A(client func(agent.A2A) *http.Client) program.Peers {
	return a2atool.New(a2atool.Options{HTTP: client, Secrets: o.Secrets, Clock: machine.Clock{}, Logger: o.Logger, Version: o.Version}).Peer
}
