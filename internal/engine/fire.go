package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// hooked are the phases in which the agent wants to be called.
func hooked(agent Agent, memory bool) map[core.Phase]bool {
	on := map[core.Phase]bool{}
	for _, h := range agent.Hooks {
		for phase, wants := range map[core.Phase]bool{
			core.RunStart: is[RunStartHook](h), core.StepStart: is[StepStartHook](h), core.BeforeInference: is[BeforeInferenceHook](h),
			core.AfterInference: is[AfterInferenceHook](h), core.ToolGate: is[ToolGateHook](h), core.BeforeToolExecute: is[BeforeToolHook](h),
			core.AfterToolExecute: is[AfterToolHook](h), core.StepEnd: is[StepEndHook](h), core.RunEnd: is[RunEndHook](h),
		} {
			on[phase] = on[phase] || wants
		}
	}
	on[core.RunStart] = on[core.RunStart] || memory
	return on
}

func is[T any](h Hook) bool {
	_, ok := h.(T)
	return ok
}

// fire calls the hooks of a phase, one after the other, each on its own copy of the state, and joins what they want. A cancel does not stop
// them: they would only be called again, and those of the run's end are called because of it.
func (a *activation) fire(ctx context.Context, f core.Firing) error {
	all := make([]core.Effects, len(a.agent.Hooks))
	for i, h := range a.agent.Hooks {
		all[i] = a.call(ctx, h, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	joined := core.Join(all)
	if f.Phase == core.RunStart && a.remembers() {
		text, failure, err := a.recall(ctx)
		if err != nil {
			return err
		}
		joined.Recall, joined.RecallFailed = text, failure
	}
	a.view.Fired = append(a.view.Fired, f.Answer(joined))
	return nil
}

// hookTime is what one hook may take, all of a phase together no more than an eighth of the activation, and hookGrace how much later it
// is left behind if it does not stop.
const (
	hookTime  = 10 * time.Second
	hookGrace = time.Second
)

// call is one hook in one phase. Its failure is its own: what it wanted does not count, and a body it stood before does not run. One that
// does not return is left behind.
func (a *activation) call(ctx context.Context, h Hook, f core.Firing) core.Effects {
	limit := min(hookTime, (a.e.o.Lease-a.e.o.Margin)/8/time.Duration(len(a.agent.Hooks)))
	head := a.view.Head
	req := HookRequest{Tenant: head.Tenant, Thread: head.Thread, Run: head.Run, Step: f.Step, State: NewPad(f.State)}
	e, err := within(ctx, a, limit, func(ctx context.Context) (core.Effects, error) { return dispatch(ctx, h, f, req) })
	if err != nil {
		return failed(h, f, err)
	}
	e.State = append(e.State, req.State.Ops()...)
	return e
}

// within runs f for at most limit; one that does not stop then is left behind a little later.
func within[T any](ctx context.Context, a *activation, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	defer a.rest()()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	left := make(chan struct{})
	defer a.e.o.Clock.AfterFunc(limit, func() { cancel(errTooLong) })()
	defer a.e.o.Clock.AfterFunc(limit+min(hookGrace, limit), func() { close(left) })()
	done, got := beside(ctx, a, f)
	a.e.o.Scheduler.Await(done, left)
	if !isClosed(done) {
		var zero T
		return zero, errTooLong
	}
	return got.v, got.err
}

var errTooLong = errors.New("it took too long")

func dispatch(ctx context.Context, h Hook, f core.Firing, req HookRequest) (core.Effects, error) {
	switch f.Phase {
	case core.RunStart:
		if h, ok := h.(RunStartHook); ok {
			return h.RunStart(ctx, req)
		}
	case core.StepStart:
		if h, ok := h.(StepStartHook); ok {
			return h.StepStart(ctx, req)
		}
	case core.BeforeInference:
		if h, ok := h.(BeforeInferenceHook); ok {
			return h.BeforeInference(ctx, req)
		}
	case core.AfterInference:
		if h, ok := h.(AfterInferenceHook); ok {
			return h.AfterInference(ctx, req, cloneTurn(*f.Turn))
		}
	case core.BeforeToolExecute:
		if h, ok := h.(BeforeToolHook); ok {
			return h.BeforeToolExecute(ctx, req, cloneCall(*f.Call))
		}
	case core.AfterToolExecute:
		if h, ok := h.(AfterToolHook); ok {
			return h.AfterToolExecute(ctx, req, cloneCall(*f.Call), cloneOutcome(*f.Outcome))
		}
	case core.StepEnd:
		if h, ok := h.(StepEndHook); ok {
			return h.StepEnd(ctx, req)
		}
	case core.RunEnd:
		if h, ok := h.(RunEndHook); ok {
			return h.RunEnd(ctx, req, *f.Reason)
		}
	}
	return core.Effects{}, nil
}

// What hooks are shown is theirs: what they do to it nobody else sees.

func cloneTurn(t core.Turn) core.Turn {
	t.Calls = slices.Clone(t.Calls)
	for i, c := range t.Calls {
		t.Calls[i] = cloneCall(c)
	}
	return t
}

func cloneCall(c core.ToolCall) core.ToolCall {
	c.Arguments = slices.Clone(c.Arguments)
	return c
}

func cloneOutcome(o core.Outcome) core.Outcome {
	o.State = slices.Clone(o.State)
	if o.Ticket != nil {
		ticket := *o.Ticket
		o.Ticket = &ticket
	}
	return o
}

func failed(h Hook, f core.Firing, err error) core.Effects {
	e := core.Effects{Notes: []string{fmt.Sprintf("hook %s, %s: %v", h.Name(), f.Phase, err)}}
	if f.Phase == core.BeforeToolExecute {
		e.Refuse = fmt.Sprintf("Not run: %s: %v", h.Name(), err)
	}
	return e
}

// ruled are the rules of the definition, made stricter by the gates and stop rules of hooks.
type ruled struct {
	core.Rules
	gates []ToolGateHook
	terms core.Terms
	log   func(hook string, panicked any)
}

func (e *Engine) ruled(agent Agent) core.Rules {
	r := ruled{Rules: agent.Rules, terms: agent.Rules.Terms(), log: func(hook string, p any) {
		e.o.Logger.Error("a gate or a stop rule panicked; the call is denied, the run stopped", "hook", hook, "panic", p, "stack", string(debug.Stack()))
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

// guardedStop stops the run if the rule of a hook fails: whether it would have cannot be told.
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

// Preview implements [core.Previewer]: that of the definition.
func (r ruled) Preview(call core.ToolCall) *core.PreviewSource {
	if rules, ok := r.Rules.(core.Previewer); ok {
		return rules.Preview(call)
	}
	return nil
}

// Gate implements [core.Rules]: the strictest of all verdicts, the definition's first. Where several ask, one approval answers all, and
// grants only what all of them would; it bars every approver whom one of them bars.
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
			v = askBoth(v, *other)
			continue
		}
		v = core.Stricter(v, *other)
	}
	return v
}

func askBoth(a, b core.Verdict) core.Verdict {
	switch {
	case a.Reason == "":
		a.Reason = b.Reason
	case b.Reason != "":
		a.Reason += " " + b.Reason
	}
	if a.Result == nil {
		a.Result = b.Result
	}
	a.NotBy = cmp.Or(a.NotBy, b.NotBy)
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
	return gate.ToolGate(cloneCall(call), state.Clone())
}
