package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Target finds the suspension that a decision means: by its id, or by the id of a call that was
// suspended only once.
func (f *Frontend) Target(ctx context.Context, p Place, target string) (core.SuspendedCall, error) {
	if seq, ok := core.SuspensionSeq(target); ok && seq > p.Record.Seq0 && seq <= p.Record.Seq {
		call, err := f.FindSuspension(ctx, p, target)
		if !errors.Is(err, ErrNoSuspension) {
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
func (f *Frontend) targetInJournal(ctx context.Context, p Place, id string) (core.SuspendedCall, error) {
	var found []core.SuspendedCall
	var broken error
	_, known := p.Head.Calls[id]
	known = known && p.Current
	err := f.Journal(ctx, p, p.Record.Seq0+1, func(s core.Segment) bool {
		var waiting []WaitingCall
		waiting, broken = suspensionsIn(s)
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

// WaitingCall is a suspended call and since when it waits.
type WaitingCall struct {
	core.SuspendedCall
	Since int64
}

// ErrNoSuspension: the segment that an id names has no suspension of that id.
var ErrNoSuspension = errors.New("frontend: no such suspension in its segment")

// FindSuspension reads what the journal holds of a suspension of the run. [ErrNoSuspension] if
// there is none of that id.
func (f *Frontend) FindSuspension(ctx context.Context, p Place, sus string) (WaitingCall, error) {
	seq, ok := core.SuspensionSeq(sus)
	if !ok {
		return WaitingCall{}, ErrNoSuspension
	}
	waiting, err := f.SuspendedAt(ctx, p, seq)
	if err != nil {
		return WaitingCall{}, err
	}
	for _, w := range waiting {
		if w.Suspension.ID == sus {
			return w, nil
		}
	}
	return WaitingCall{}, ErrNoSuspension
}

// SuspendedAt are the suspensions of one segment, in order.
func (f *Frontend) SuspendedAt(ctx context.Context, p Place, seq int64) ([]WaitingCall, error) {
	s, err := f.segment(ctx, p, seq)
	if err != nil {
		return nil, err
	}
	return suspensionsIn(s)
}

func suspensionsIn(s core.Segment) ([]WaitingCall, error) {
	var waiting []WaitingCall
	for _, e := range s.Events {
		if e.Type != core.EventCallSuspended {
			continue
		}
		w := WaitingCall{Since: e.At}
		if err := json.Unmarshal(e.Data, &w.SuspendedCall); err != nil {
			return nil, fmt.Errorf("frontend: event %d: %w", e.Seq, err)
		}
		waiting = append(waiting, w)
	}
	return waiting, nil
}
