package engine

import (
	"cmp"
	"runtime/debug"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/effects"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// ruled are the rules of the definition, made stricter by the gates and stop rules of hooks.
type ruled struct {
	core.Rules
	gates []ToolGateHook
	terms core.Terms
	log   func(hook string, panicked any)
}

func (e *Engine) ruled(agent Agent) core.Rules {
	r := ruled{Rules: agent.Rules, terms: agent.Rules.Terms(), log: func(hook string, p any) {
		e.o.Logger.Error("a gate or a stop rule panicked; the call is denied or the run stopped", "hook", hook, "panic", p, "stack", string(debug.Stack()))
	}}
	r.terms.Memory = agent.Memory != nil
	for _, h := range agent.Hooks {
		if gate, ok := h.(ToolGateHook); ok {
			r.gates = append(r.gates, gate)
		}
		if stop, ok := h.(core.StopRule); ok {
			r.terms.Stops = append(r.terms.Stops[:len(r.terms.Stops):len(r.terms.Stops)], guardedStop{stop, h.Name(), r.log})
		}
	}
	return r
}

// guardedStop stops the run if a hook's stop rule panics, because the rule might have stopped it.
type guardedStop struct {
	core.StopRule
	hook string
	log  func(hook string, panicked any)
}

func (g guardedStop) Stop(p core.Progress) (code, detail string, stop bool) {
	defer func() {
		if panicked := recover(); panicked != nil {
			g.log(g.hook, panicked)
			code, detail, stop = "hook_failed", "the stop rule of "+g.hook+" failed unexpectedly", true
		}
	}()
	return g.StopRule.Stop(p)
}

func (r ruled) Terms() core.Terms { return r.terms }

// Preview implements [plans.Previewer]: that of the definition.
func (r ruled) Preview(call core.ToolCall) *plans.PreviewSource {
	if rules, ok := r.Rules.(plans.Previewer); ok {
		return rules.Preview(call)
	}
	return nil
}

// Gate implements [core.Rules]: the strictest of all verdicts, the definition's first. Where
// several ask, one approval answers all, and grants only what all of them would; it bars every
// approver whom one of them bars.
func (r ruled) Gate(call core.ToolCall, state core.State) core.Verdict {
	v := r.Rules.Gate(call, state)
	for _, gate := range r.gates {
		other := r.ask(gate, call, state)
		if other == nil {
			continue
		}
		if other.Grant != "" {
			other.Grant = gate.(Hook).Name() + ":" + other.Grant
		}
		if v.Effect == core.Ask && other.Effect == core.Ask {
			v = askBoth(v, *other, r.terms.Policy)
			continue
		}
		v = core.Stricter(v, *other)
	}
	return v
}

// askBoth joins two verdicts that ask. One without a policy has the agent's.
func askBoth(a, b core.Verdict, agents *vote.Policy) core.Verdict {
	switch {
	case a.Reason == "":
		a.Reason = b.Reason
	case b.Reason != "":
		a.Reason += " " + b.Reason
	}
	if a.Result == nil {
		a.Result = b.Result
	}
	a.NotBy, a.Policy = cmp.Or(a.NotBy, b.NotBy), vote.Join(cmp.Or(a.Policy, agents), cmp.Or(b.Policy, agents))
	if a.Grant == "" || b.Grant == "" {
		a.Grant = ""
		return a
	}
	a.Grant += "+" + b.Grant
	return a
}

func (r ruled) ask(gate ToolGateHook, call core.ToolCall, state core.State) (v *core.Verdict) {
	defer func() {
		if p := recover(); p != nil {
			r.log(gate.(Hook).Name(), p)
			v = &core.Verdict{Effect: core.Deny, Reason: "a check of this call failed unexpectedly"}
		}
	}()
	return gate.ToolGate(effects.CopyOfCall(call), state.Clone())
}
