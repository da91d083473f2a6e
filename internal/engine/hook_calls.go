package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/effects"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
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

// fire calls the hooks of a phase, one after the other, each on its own copy of the state, and
// joins what they want. A cancel does not stop them: they would only be called again, and those of
// the run's end are called because of it.
func (a *activation) fire(ctx context.Context, f core.Firing) error {
	all := make([]core.Effects, len(a.agent.Hooks))
	for i, h := range a.agent.Hooks {
		all[i] = a.call(ctx, h, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	joined := effects.Join(all)
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

// hookTime is what one hook may take, all of a phase together no more than an eighth of the
// activation, and hookGrace how much later it is left behind if it does not stop.
const (
	hookTime  = 10 * time.Second
	hookGrace = time.Second
)

// call is one hook in one phase. Its failure is its own: what it wanted does not count, and a body
// it stood before does not run. One that does not return is left behind.
func (a *activation) call(ctx context.Context, h Hook, f core.Firing) core.Effects {
	limit := min(hookTime, (a.e.o.Lease-a.e.o.Margin)/8/time.Duration(len(a.agent.Hooks)))
	head := a.view.Head
	req := HookRequest{Tenant: head.Tenant, Thread: head.Thread, Run: head.Run, Step: f.Step, State: pad.New(f.State)}
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
			return h.AfterInference(ctx, req, effects.CopyOfTurn(*f.Turn))
		}
	case core.BeforeToolExecute:
		if h, ok := h.(BeforeToolHook); ok {
			return h.BeforeToolExecute(ctx, req, effects.CopyOfCall(*f.Call))
		}
	case core.AfterToolExecute:
		if h, ok := h.(AfterToolHook); ok {
			return h.AfterToolExecute(ctx, req, effects.CopyOfCall(*f.Call), effects.CopyOfOutcome(*f.Outcome))
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

func failed(h Hook, f core.Firing, err error) core.Effects {
	e := core.Effects{Notes: []string{fmt.Sprintf("hook %s, %s: %v", h.Name(), f.Phase, err)}}
	if f.Phase == core.BeforeToolExecute {
		e.Refuse = fmt.Sprintf("Not run: %s: %v", h.Name(), err)
	}
	return e
}
