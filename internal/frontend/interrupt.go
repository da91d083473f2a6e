package frontend

import (
	"cmp"
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// Interrupt asks a run to pause after the commit at hand; it then waits until it is resumed or gets a message. Asking again with the same
// key, or while the interrupt is under way, changes nothing. [CodeRunDone] if the run has ended.
func (f *Frontend) Interrupt(ctx context.Context, c Caller, run, key string) (wire.Run, error) {
	if err := readKey(key); err != nil {
		return wire.Run{}, err
	}
	p, err := f.find(ctx, c, run)
	if err != nil {
		return wire.Run{}, err
	}
	if !p.accepts() {
		return wire.Run{}, runDone()
	}
	id := cmp.Or(key, f.random.Text(24))
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: p.head.Thread, Run: run, InboxKey: core.KeyPause, NotInterrupt: id,
		Signal: core.Signal{Kind: core.SignalPause, ID: id, By: c.By, At: f.now()}, Due: f.due(), Wake: &engine.Delay{}})
	if err != nil && !errors.Is(err, engine.ErrRefused) {
		return wire.Run{}, err
	}
	_, underWay := w.Head.Inbox[core.KeyPause]
	if w.Head.Run != run || err != nil && !underWay && w.Head.Interrupt != id {
		return wire.Run{}, runDone()
	}
	f.wake(ctx, c.Tenant, p.head.Thread, w.Woken)
	return f.show(ctx, place{head: w.Head, record: w.Head.Record(), current: true})
}

// Resume lets an interrupted run go on: a decision on the suspension that it waits on, answered as by [Frontend.Decide].
// [CodeNotWaiting] if the run is not interrupted; a repeat that carries the decision's id is known then too. [CodeRunDone] if it has ended.
func (f *Frontend) Resume(ctx context.Context, c Caller, run string, req wire.ResumeRequest) (wire.DecisionAnswer, error) {
	if err := readDecisionID(req.DecisionID); err != nil {
		return wire.DecisionAnswer{}, err
	}
	p, err := f.find(ctx, c, run)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	in := core.DecisionInput{ID: req.DecisionID, Action: core.ActionResume.String(), Reason: req.Reason, At: f.now()}
	sus, ok := interruptedOn(p)
	if !ok {
		return f.resumedBefore(ctx, p, in)
	}
	call, err := f.suspension(ctx, p, sus)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	d, err := f.readDecision(ctx, c, p, call.SuspendedCall, in)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	return f.decide(ctx, c, p, sus, d)
}

// interruptedOn is the suspension that an interrupted run waits on.
func interruptedOn(p place) (sus string, ok bool) {
	if !p.accepts() {
		return "", false
	}
	for _, call := range p.head.Calls {
		if call.Status == core.CallSuspended && call.Kind == core.KindInterrupt {
			return call.Sus, true
		}
	}
	return "", false
}

// resumedBefore answers for a run that is not interrupted: a decision with an id may be the repeat of one that made it go on.
func (f *Frontend) resumedBefore(ctx context.Context, p place, in core.DecisionInput) (wire.DecisionAnswer, error) {
	if in.ID != "" {
		rec, found, err := f.findDecision(ctx, p, p.record.Seq0+1, func(r core.DecisionRecord) bool {
			in.Suspension = r.Suspension
			return !r.Late && r.DecisionID == in.ID && r.Digest == in.Digest()
		})
		if err != nil {
			return wire.DecisionAnswer{}, err
		}
		if found {
			answer := same(&rec.Applied)
			answer.Target, answer.CallID, answer.DecisionID = rec.Suspension, rec.CallID, rec.DecisionID
			return answer, nil
		}
	}
	if !p.accepts() {
		return wire.DecisionAnswer{}, runDone()
	}
	return wire.DecisionAnswer{}, refuse(CodeNotWaiting, "the run is not interrupted")
}
