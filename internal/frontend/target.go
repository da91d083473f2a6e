package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Target finds the suspension that a decision means: by its id, or by the id of a call that was
// suspended only once.
func (f *Frontend) Target(ctx context.Context, p journal.Place, target string) (core.SuspendedCall, error) {
	if seq, ok := core.SuspensionSeq(target); ok && seq > p.Record.Seq0 && seq <= p.Record.Seq {
		call, err := f.FindSuspension(ctx, p, target)
		if !errors.Is(err, journal.ErrNoSuspension) {
			return call.SuspendedCall, err
		}
	}
	if call, ok := p.Head.Calls[target]; ok && p.Current && call.Suspensions > 0 {
		if call.Suspensions > 1 {
			return core.SuspendedCall{}, suspensionIDRequired()
		}
		found, err := f.FindSuspension(ctx, p, call.Sus)
		return found.SuspendedCall, err
	}
	return f.targetInJournal(ctx, p, target)
}

func suspensionIDRequired() *refusal.Error {
	return refusal.New(refusal.CodeSuspensionIDRequired, "the call was suspended more than once; send the id of the suspension as target")
}

// targetInJournal is for a call of an earlier round, or of a run that is over.
func (f *Frontend) targetInJournal(ctx context.Context, p journal.Place, id string) (core.SuspendedCall, error) {
	var found []core.SuspendedCall
	var broken error
	_, known := p.Head.Calls[id]
	known = known && p.Current
	err := f.Journal(ctx, p, p.Record.Seq0+1, func(s core.Segment) bool {
		var waiting []journal.WaitingCall
		waiting, broken = journal.SuspensionsIn(s)
		for _, w := range waiting {
			if w.CallID == id {
				found = append(found, w.SuspendedCall)
			}
		}
		known = known || asks(s, id)
		return broken == nil
	})
	switch {
	case err != nil || broken != nil:
		return core.SuspendedCall{}, errors.Join(err, broken)
	case len(found) > 1:
		return core.SuspendedCall{}, suspensionIDRequired()
	case len(found) == 1:
		return found[0], nil
	case known:
		return core.SuspendedCall{}, refusal.New(refusal.CodeNotSuspended, "the call isn't suspended; read the run for its pending calls")
	}
	return core.SuspendedCall{}, CallNotFound()
}

// CallNotFound refuses the id of a call or suspension that the run does not have.
func CallNotFound() *refusal.Error {
	return refusal.New(refusal.CodeCallNotFound, "the run has no call or suspension with this id; read the run for its pending calls")
}

// asks says whether a message of the segment asks for the call.
func asks(s core.Segment, id string) bool {
	for _, m := range s.Messages {
		for _, call := range m.Calls {
			if call.ID == id {
				return true
			}
		}
	}
	return false
}
