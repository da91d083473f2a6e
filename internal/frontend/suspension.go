package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Suspension finds what waits, or waited, under the id of a suspension alone. One of the two is set: the call while it waits, or what
// became of it. [CodeCallNotFound] also for an id that does not say its thread.
func (f *Frontend) Suspension(ctx context.Context, c Caller, sus string) (*wire.Approval, *wire.Outcome, error) {
	p, err := f.suspensionPlace(ctx, c, sus)
	if err != nil {
		return nil, nil, err
	}
	if openSuspensions(p)[sus] {
		shown, err := f.view(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		for _, approval := range shown.approvalsIn(p.head) {
			if approval.Suspension.ID == sus {
				return &approval, nil, nil
			}
		}
	}
	outcome, err := f.Outcome(ctx, c, p.record.Run, sus)
	return nil, &outcome, err
}

// DecideSuspension is [Frontend.Decide] for a caller who does not know the run.
func (f *Frontend) DecideSuspension(ctx context.Context, c Caller, sus string, d wire.Decision) (wire.DecisionAnswer, error) {
	d.Target = sus
	if _, err := decisionInput(d, f.now()); err != nil { // what is wrong with it is told before anything is looked for, as for Decide
		return wire.DecisionAnswer{}, err
	}
	p, err := f.suspensionPlace(ctx, c, sus)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	return f.Decide(ctx, c, p.record.Run, d)
}

// suspensionPlace is the run in which a call was suspended: the id names the thread and the segment, and the segment the run.
func (f *Frontend) suspensionPlace(ctx context.Context, c Caller, sus string) (place, error) {
	thread, ok := core.SuspensionThread(sus)
	if !ok || len(sus) > maxID {
		return place{}, suspensionNotFound()
	}
	head, err := f.thread(ctx, c, thread)
	if refused, is := errors.AsType[*Error](err); is && refused.Code == CodeThreadNotFound {
		return place{}, suspensionNotFound()
	}
	if err != nil {
		return place{}, err
	}
	seq, _ := core.SuspensionSeq(sus)
	if seq > head.Seq {
		return place{}, suspensionNotFound()
	}
	s, err := f.segment(ctx, place{head: head, record: head.Record(), current: true}, seq)
	if err != nil {
		return place{}, err
	}
	for _, e := range s.Events {
		if e.Type == core.EventCallSuspended {
			p, err := f.find(ctx, c, e.RunID)
			if refused, is := errors.AsType[*Error](err); is && refused.Code == CodeRunNotFound {
				err = suspensionNotFound()
			}
			if err != nil {
				return place{}, err
			}
			_, err = f.suspension(ctx, p, sus)
			if errors.Is(err, errNoSuspension) {
				err = suspensionNotFound()
			}
			return p, err
		}
	}
	return place{}, suspensionNotFound()
}

func suspensionNotFound() *Error {
	return refuse(CodeCallNotFound, "there is no such suspension")
}
