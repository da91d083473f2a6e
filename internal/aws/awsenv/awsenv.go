// Package awsenv assembles a deployed stack: the table, the queues, the agents with the program's
// tools and hooks, the engine and the frontend. Each function uses the parts that it needs and adds
// its event handler. It contains no logic of the runtime.
//
// Package stack has the parts of functions without agents. The step function alone calls models and
// remote tools, and brings their clients along as [Dependencies], so that the other functions do
// not link them.
package awsenv

import (
	"errors"
	"fmt"
	"io"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// Settings are the settings in the environment.
type Settings struct {
	stack.Settings
	Policy *agent.Permissions // applies to all agents; nil for none
	Asking ask.Policies       // who decides about asks that name a group or a policy
	Prices agent.Prices       // of models whose agents have no price; nil for none
	// of the runs that a tenant starts on one day of UTC; 0 is no limit
	TenantDay core.USD
	Private   netguard.Private // the addresses of PrivateHosts
	SlackAPI  string           // the address of a double of Slack, in tests
}

// PolicyDigest identifies the policy that the function applies.
func (s Settings) PolicyDigest() string { return agent.PolicyDigest(s.Policy, s.Asking) }

// policyVariable holds the text of a policy file, in the form of `dormouse dev --policy`.
const policyVariable = "DORMOUSE_POLICY"

// pricesVariable holds the text of a price file, in the form of `dormouse dev --prices`.
const pricesVariable = "DORMOUSE_PRICES"

// dayCostVariable holds a decimal of dollars.
const dayCostVariable = "DORMOUSE_TENANT_DAY_COST"

// Read reads the settings. The error names every variable that is missing or invalid, and what to
// set it to.
func Read(getenv func(string) string) (Settings, error) {
	base, err := stack.Read(getenv)
	s := Settings{Settings: base}
	private, wrong := netguard.ReadPrivate(base.PrivateHosts)
	if wrong != nil {
		err = errors.Join(err, fmt.Errorf("DORMOUSE_PRIVATE_HOSTS: %w", wrong))
	}
	s.Private = private
	if text := getenv(pricesVariable); text != "" {
		prices, wrong := agentfile.ParsePrices(pricesVariable, []byte(text))
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s is not a price table; set it to the text of a price file, or remove it: %w", pricesVariable, wrong))
		}
		s.Prices = prices
	}
	if text := getenv(dayCostVariable); text != "" {
		usd, wrong := core.ParseUSD(text)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w, or remove it", dayCostVariable, wrong))
		}
		s.TenantDay = usd
	}
	text := getenv(policyVariable)
	if text == "" {
		return s, err
	}
	policy, wrong := agentfile.ParsePolicy(policyVariable, []byte(text))
	if wrong != nil {
		return s, errors.Join(err, fmt.Errorf("%s is not a policy; set it to the text of a policy file, or remove it: %w", policyVariable, wrong))
	}
	s.Policy = &policy
	asking, wrong := agentfile.ParseAsking(policyVariable, []byte(text))
	s.Asking = asking
	return s, errors.Join(err, wrong)
}

// parts are the parts of a function with agents.
type parts struct {
	stack.Parts
	Agents *program.Agents

	tenantDay core.USD
	asking    ask.Policies
}

// open assembles the parts; deps is nil for a function that runs nothing.
func open(s Settings, register Register, deps *Dependencies, out io.Writer) (parts, error) {
	p := parts{Parts: stack.Open(s.Settings, out), tenantDay: s.TenantDay, asking: s.Asking}
	have, err := assemble(s, register, deps, p.Logger)
	p.Agents = program.NewAgents(p.Store, have)
	return p, err
}
