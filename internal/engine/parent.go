package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// lookUp looks at the runs above before the run does anything, and before it applies an answer. The
// heads are read one after the other, from the parent to the root: a cancel that was accepted
// before the answer is seen, whichever of them it waits in.
func (a *activation) lookUp(ctx context.Context) error {
	h := a.view.Head
	now := look{sigs: h.Sigs, done: true}
	if h.Deadline <= a.view.Now {
		now.deadline = h.Deadline
	}
	switch {
	case h.Parent == nil || h.End != nil || a.lookedAt == now:
		return nil
	case h.Seq == h.Seq0:
		parent, err := a.load(ctx, h.Parent.Thread)
		if err != nil {
			return err
		}
		a.view.Disowned, a.view.ParentPaused = !parent.WaitsFor(*h.Parent), parent.Interrupt()
	case plans.AsksAncestors(h, a.view.Now):
		if err := a.lookAtAncestors(ctx); err != nil {
			return err
		}
	default:
		return nil
	}
	a.lookedAt = now
	return nil
}

// look is what an activation knew when it looked at the runs above: as long as nothing else has
// come, it need not look again.
type look struct {
	done           bool
	sigs, deadline int64 // the deadline if it had passed
}

func (a *activation) lookAtAncestors(ctx context.Context) error {
	a.view.ParentPaused = ""
	for below := a.view.Head.Parent; below != nil; {
		above, err := a.load(ctx, below.Thread)
		if err != nil {
			return err
		}
		if _, cancelled := above.Inbox[core.KeyCancel]; cancelled || !above.WaitsFor(*below) {
			a.view.AncestorGone = true
			return nil
		}
		if below == a.view.Head.Parent {
			a.view.ParentPaused = above.Interrupt()
		}
		below = above.Parent
	}
	return nil
}

// load reads the head of another thread of the tenant. One that is not there is a zero head, which
// waits for nothing.
func (a *activation) load(ctx context.Context, thread string) (core.Head, error) {
	h, err := retrying(ctx, a.e, func() (core.Head, error) { return a.e.o.Store.Load(ctx, a.view.Head.Tenant, thread) })
	if errors.Is(err, ErrNotFound) {
		return core.Head{Status: core.RunDone}, nil
	}
	if err != nil {
		return h, fmt.Errorf("looking at the run above: %w", err)
	}
	return h, nil
}

// tellParent gives the result of the run to the call that waits for it. It is bound to that
// suspension and to nothing else: the parent may not know yet that the run was launched.
func (a *activation) tellParent(ctx context.Context) error {
	h := a.view.Head
	p := h.Parent
	if p == nil {
		return nil
	}
	result, err := a.childResult(ctx)
	if err != nil {
		return err
	}
	s, err := a.offload(ctx, p.Thread, core.Signal{Kind: core.SignalChild, Call: p.Call, Value: core.Encode(result), By: "agent:" + h.Agent, Via: core.ViaAgent, At: a.view.Now})
	if err != nil {
		return err
	}
	return a.signal(ctx, SignalRequest{Tenant: h.Tenant, Thread: p.Thread, Run: p.Run, InboxKey: p.Sus, Call: p.Call, Suspension: p.Sus, Signal: s})
}

// childResult is how the run has ended, for its parent.
func (a *activation) childResult(ctx context.Context) (core.ChildResult, error) {
	h := a.view.Head
	end := *h.End
	result := core.ChildResult{Outcome: core.ChildOutcome(end), Code: end.Code, Detail: end.Detail, Usage: h.Record().Tree()}
	if end.Kind == core.BehaviorRequested && result.Code == "" {
		result.Code = end.Kind.String()
	}
	if result.Outcome != core.CallOutcomeSucceeded {
		return result, nil
	}
	segments, err := a.journal(ctx, h.Seq0+1)
	if err != nil {
		return result, err
	}
	result.Value = core.OutputIn(segments, h.Run, h.Finish, h.Parent.Final)
	if len(result.Value) > core.DefaultResult {
		result.Value = core.Encode(core.CutResult(core.ResultText(result.Value), core.DefaultResult))
	}
	return result, nil
}
