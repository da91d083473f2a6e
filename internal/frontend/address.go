package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Addressed is the run whose call a target means at the address of a run: that run, or one below it
// whose suspension the target names. [refusal.CodeCallNotFound] for the suspension of a run that is
// not below it.
func (f *Frontend) Addressed(ctx context.Context, c Caller, run, target string) (journal.Place, error) {
	p, err := f.Find(ctx, c.Tenant, run)
	thread, named := core.SuspensionThread(target)
	if err != nil || !named || thread == p.Record.Thread {
		return p, err
	}
	there, err := f.SuspensionPlace(ctx, c.Tenant, target)
	if refused, ok := errors.AsType[*refusal.Error](err); ok && refused.Code == refusal.CodeCallNotFound {
		return p, nil // the run may have a call of that name
	}
	if err != nil {
		return p, err
	}
	below, err := f.Family.IsBelow(ctx, there, run)
	if err == nil && !below {
		err = CallNotFound()
	}
	return there, err
}

// awaitsChild refuses to answer a call that another run works for.
func awaitsChild(call core.SuspendedCall) error {
	if call.Kind != core.KindChild {
		return nil
	}
	run := "another run"
	if call.Child != nil {
		run = "run " + call.Child.Run
	}
	return refusal.New(refusal.CodeWrongKind, "%s works for this call and its end is the answer; wait for it, or cancel that run", run)
}

// childThread refuses to add to the conversation of a run that another run has started and waits
// for.
func childThread(h core.Head) error {
	if h.Parent == nil {
		return nil
	}
	e := refusal.New(refusal.CodeChildThread, "this conversation belongs to a run that run %s started; send the message to that run's conversation, or cancel and start again", h.Parent.Run)
	e.RunID = h.Parent.Run
	return e
}
