package program

import (
	"cmp"
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// asking are the versions of the built-in agent behind asks, the newest first. They are part of the
// program, so nothing deploys them and every tenant has them. Asks that wait are pinned to one: add
// a changed version in front, and never change or remove one that was released.
var asking = []agent.Definition{{
	Name:        ask.Agent,
	Description: "Asks a person on behalf of a script or another program.",
	Model:       agent.Model{Provider: "ask"},
	Tools: []agent.Tool{{Name: ask.Tool, ReadOnly: true,
		Description: "The program that asks goes by the answer. Dormouse runs nothing.",
		Parameters:  json.RawMessage(`{"type":"object"}`),
		Recorded:    []agent.Answer{{Result: json.RawMessage(`"Approved."`)}}}},
	Permissions: agent.Permissions{Ask: []agent.Rule{{Tool: ask.Tool, NoGrant: true,
		Reason: "The program that asks waits for this answer."}}},
}}

// shelf adds the built-in agents to those that are stored. [Definitions.Deployed] does not list
// them: it is what was deployed. It keeps the version that was read last, which doesn't change: a
// process that begins with a step would read it twice, for the agent and for whom it notifies.
type shelf struct {
	Definitions
	last *atomic.Pointer[engine.Definition]
}

func (s shelf) Current(ctx context.Context, tenant, name string) (engine.Definition, error) {
	if name == ask.Agent {
		return storedAs(tenant, asking[0]), nil
	}
	return s.Definitions.Current(ctx, tenant, name)
}

func (s shelf) Newest(ctx context.Context, tenant, name string) (digest string, err error) {
	if name == ask.Agent {
		return asking[0].Digest(), nil
	}
	return s.Definitions.Newest(ctx, tenant, name)
}

func (s shelf) Definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error) {
	if name == ask.Agent {
		for _, d := range asking {
			if d.Digest() == digest {
				return storedAs(tenant, d), nil
			}
		}
	}
	if d := s.last.Load(); d != nil && d.Tenant == tenant && d.Name == name && d.Digest == digest {
		return *d, nil
	}
	d, err := s.Definitions.Definition(ctx, tenant, name, digest)
	if err == nil {
		s.last.Store(&d)
	}
	return d, err
}

func storedAs(tenant string, d agent.Definition) engine.Definition {
	return engine.Definition{Tenant: tenant, Name: d.Name, Digest: d.Digest(), Body: d.Encode()}
}

// Catalog is the stored definitions and those of the built-in agents.
func (a *Agents) Catalog() Definitions { return a.stored }

// asks connects the built-in agent with its implementation. The run's own permissions are the terms
// of the ask; the policy of the operator applies as to every agent.
func (a *Agents) asks(d agent.Definition, own json.RawMessage) (engine.Agent, error) {
	terms, err := ask.ReadTerms(own)
	if err != nil {
		return engine.Agent{}, err
	}
	rules, err := d.Rules(nil, agent.Layers{Policy: a.Policy})
	if err != nil {
		return engine.Agent{}, err
	}
	return engine.Agent{Rules: askRules{rules, terms}, Offered: rules.Offered(), Model: asker{},
		Tools: map[string]engine.Tool{ask.Tool: tool.Recorded(d.Tools[0].Recorded)}}, nil
}

// askRules are the rules of one ask.
type askRules struct {
	*agent.Rules
	terms ask.Terms
}

// Gate implements [core.Rules].
func (r askRules) Gate(call core.ToolCall, state core.State) core.Verdict {
	v := r.Rules.Gate(call, state)
	if v.Effect == core.Ask {
		v.NotBy = cmp.Or(r.terms.NotBy, v.NotBy)
		v.Policy = vote.Join(r.terms.Policy, v.Policy)
	}
	return v
}

// Deadline implements [core.Rules]. Without an answer in time, the ask is denied.
func (r askRules) Deadline(core.ToolCall, core.Kind) core.Deadline {
	return core.Deadline{Within: r.terms.Within, Outcome: core.DeadlineCancel}
}

// Child implements [core.Rules].
func (askRules) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }

// Terms implements [core.Rules].
func (r askRules) Terms() core.Terms {
	t := r.Rules.Terms()
	t.Approvers = r.terms.Approvers
	return t
}

// asker is the model of the built-in agent.
type asker struct{}

// Ask implements [engine.Model].
func (asker) Ask(_ context.Context, p engine.Prompt) (core.Turn, error) {
	turn, err := ask.Next(p.Messages)
	if err != nil {
		return turn, &engine.ModelError{Detail: err.Error()}
	}
	return turn, nil
}
