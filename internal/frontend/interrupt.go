package frontend

import (
	"cmp"
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/answer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// Interrupt asks a run to pause after its next commit; the run then waits until a caller resumes it
// or sends a message. It is idempotent per key, and a request that finds an interrupt under way is
// answered by that one. Without a key, interrupting an interrupted run has no effect. It returns
// [refusal.CodeRunDone] if the run has ended.
func (f *Frontend) Interrupt(ctx context.Context, c Caller, run, key string) (wire.Run, error) {
	if err := readKey(key); err != nil {
		return wire.Run{}, err
	}
	p, err := f.Find(ctx, c.Tenant, run)
	if err != nil {
		return wire.Run{}, err
	}
	// what is in the inbox may let it go on
	if _, already := interruptedOn(p); already && key == "" && len(p.Head.Inbox) == 0 {
		return f.Show(ctx, p)
	}
	id := cmp.Or(key, f.Random.Text(24))
	record := "interrupt:" + run + ":" + id
	if !p.Accepts() {
		return f.interrupted(ctx, c, p, record)
	}
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: p.Head.Thread, Run: run, InboxKey: core.KeyPause,
		Signal: core.Signal{Kind: core.SignalPause, ID: id, By: c.By, Via: c.Via, At: f.Now()}, Key: f.key(c, id, record, run, core.Digest([]byte(record))),
		Due: f.due(), Wake: &engine.Delay{}})
	var taken *engine.KeyTakenError
	switch {
	case errors.As(err, &taken):
		return f.Run(ctx, c, run)
	case err != nil && !errors.Is(err, engine.ErrRefused):
		return wire.Run{}, err
	}
	_, underWay := w.Head.Inbox[core.KeyPause]
	if w.Head.Run != run || err != nil && !underWay {
		return wire.Run{}, runDone()
	}
	f.wake(ctx, c.Tenant, p.Head.Thread, w.Woken)
	return f.Show(ctx, journal.Place{Head: w.Head, Record: w.Head.Record(), Current: true})
}

// interrupted is the answer to an interrupt of a run that takes nothing any more: it may be the
// repeat of one that was taken.
func (f *Frontend) interrupted(ctx context.Context, c Caller, p journal.Place, record string) (wire.Run, error) {
	_, err := storecall.Try(ctx, f.Clock, func() (engine.Key, error) { return f.Store.Used(ctx, c.Tenant, record) })
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return wire.Run{}, runDone()
	case err != nil:
		return wire.Run{}, err
	}
	return f.Show(ctx, p)
}

// Resume continues an interrupted run: it is a decision on the suspension that the run waits on,
// answered like [Frontend.Decide]. A repeat with the same decision id is recognized even if the run
// was interrupted again since. It returns [refusal.CodeNotWaiting] if the run isn't interrupted and
// [refusal.CodeRunDone] if it has ended.
func (f *Frontend) Resume(ctx context.Context, c Caller, run string, req wire.ResumeRequest) (wire.DecisionAnswer, error) {
	if err := readDecisionID(req.DecisionID); err != nil {
		return wire.DecisionAnswer{}, err
	}
	p, err := f.Find(ctx, c.Tenant, run)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	in := answer.Input{ID: req.DecisionID, Action: core.ActionResume.String(), Reason: req.Reason, At: f.Now()}
	if earlier, before, err := f.resumedBefore(ctx, p, in); before || err != nil {
		return earlier, err
	}
	sus, ok := interruptedOn(p)
	switch {
	case !p.Accepts():
		return wire.DecisionAnswer{}, runDone()
	case !ok:
		return wire.DecisionAnswer{}, refusal.New(refusal.CodeNotWaiting, "the run isn't interrupted, so it can't be resumed")
	}
	call, err := f.FindSuspension(ctx, p, sus)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	rec, err := f.readDecision(ctx, c, p, &call.SuspendedCall, in)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	return f.decide(ctx, c, p, sus, call.SuspendedCall, rec)
}

// interruptedOn is the suspension that an interrupted run waits on.
func interruptedOn(p journal.Place) (sus string, ok bool) {
	if !p.Accepts() {
		return "", false
	}
	for _, call := range p.Head.Calls {
		if call.Status == core.CallSuspended && call.Kind == core.KindInterrupt {
			return call.Sus, true
		}
	}
	return "", false
}

// resumedBefore looks for a decision that let the run go on once: the journal up to the head that
// says on what it waits now.
//
//	interrupted on s1 ── r1 taken ── interrupted on s2 ── r1 again: not about s2
func (f *Frontend) resumedBefore(ctx context.Context, p journal.Place, in answer.Input) (earlier wire.DecisionAnswer, before bool, err error) {
	if in.ID == "" {
		return wire.DecisionAnswer{}, false, nil
	}
	rec, found, err := f.findDecision(ctx, p, p.Record.Seq0+1, func(r core.DecisionRecord) bool {
		in.Suspension = r.Suspension
		return !r.Late && r.DecisionID == in.ID && r.Digest == in.Digest()
	})
	if !found || err != nil {
		return wire.DecisionAnswer{}, false, err
	}
	earlier = same(&rec.Applied)
	earlier.Target, earlier.CallID, earlier.DecisionID = rec.Suspension, rec.CallID, rec.DecisionID
	return earlier, true, nil
}
