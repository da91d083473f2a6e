package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// DecideSuspension is [Frontend.Decide] for a caller who does not know the run.
func (f *Frontend) DecideSuspension(ctx context.Context, c Caller, sus string, d wire.Decision) (wire.DecisionAnswer, error) {
	d.Target = sus
	// an invalid decision is refused before the store is read, as in Decide
	if _, err := decisionInput(d, f.Now()); err != nil {
		return wire.DecisionAnswer{}, err
	}
	p, err := f.SuspensionPlace(ctx, c, sus)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	return f.Decide(ctx, c, p.Record.Run, d)
}

// SuspensionPlace is the run in which a call was suspended: the id names the thread and the
// segment, and the segment the run.
func (f *Frontend) SuspensionPlace(ctx context.Context, c Caller, sus string) (Place, error) {
	thread, ok := core.SuspensionThread(sus)
	if !ok || len(sus) > MaxID {
		return Place{}, suspensionNotFound()
	}
	head, err := f.LoadThread(ctx, c, thread)
	if refused, is := errors.AsType[*refusal.Error](err); is && refused.Code == refusal.CodeThreadNotFound {
		return Place{}, suspensionNotFound()
	}
	if err != nil {
		return Place{}, err
	}
	seq, _ := core.SuspensionSeq(sus)
	if seq > head.Seq {
		return Place{}, suspensionNotFound()
	}
	s, err := f.segment(ctx, Place{Head: head, Record: head.Record(), Current: true}, seq)
	if err != nil {
		return Place{}, err
	}
	for _, e := range s.Events {
		if e.Type == core.EventCallSuspended {
			p, err := f.Find(ctx, c, e.RunID)
			if refused, is := errors.AsType[*refusal.Error](err); is && refused.Code == refusal.CodeRunNotFound {
				err = suspensionNotFound()
			}
			if err != nil {
				return Place{}, err
			}
			_, err = f.FindSuspension(ctx, p, sus)
			if errors.Is(err, ErrNoSuspension) {
				err = suspensionNotFound()
			}
			return p, err
		}
	}
	return Place{}, suspensionNotFound()
}

func suspensionNotFound() *refusal.Error {
	return refusal.New(refusal.CodeCallNotFound, "the suspension doesn't exist; check its id")
}
