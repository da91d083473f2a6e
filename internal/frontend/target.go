package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// place is where a run is found: in the head of its thread, or, once another run took that, in the archive.
type place struct {
	head    core.Head // of the thread; the run's own if current
	record  core.Record
	current bool
	whole   bool // the record stands for all runs of the thread
}

// accepts says whether the run may still be sent something.
func (p place) accepts() bool { return p.current && p.head.Open() && p.head.End == nil }

// find looks for a run. [CodeRunNotFound] also for what is no id, and for a run of another tenant.
func (f *Frontend) find(ctx context.Context, c Caller, run string) (place, error) {
	thread, ok := core.ThreadOf(run)
	if !ok || len(run) > maxID {
		return place{}, runNotFound()
	}
	head, err := f.load(ctx, c.Tenant, thread)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return place{}, runNotFound()
	case err != nil:
		return place{}, err
	case head.Run == run:
		return place{head: head, record: head.Record(), current: true}, nil
	}
	record, err := try(ctx, f, func() (core.Record, error) { return f.store.Archived(ctx, c.Tenant, run) })
	if errors.Is(err, engine.ErrNotFound) {
		return place{}, runNotFound()
	}
	return place{head: head, record: record}, err
}

func runNotFound() *Error { return refuse(CodeRunNotFound, "there is no such run") }

// thread loads a thread's head. [CodeThreadNotFound] as for [Frontend.find].
func (f *Frontend) thread(ctx context.Context, c Caller, thread string) (core.Head, error) {
	if len(thread) > maxID {
		return core.Head{}, threadNotFound()
	}
	head, err := f.load(ctx, c.Tenant, thread)
	if errors.Is(err, engine.ErrNotFound) {
		return head, threadNotFound()
	}
	return head, err
}

func threadNotFound() *Error { return refuse(CodeThreadNotFound, "there is no such thread") }

// target finds the suspension that a decision means: by its id, or by the id of a call that was suspended only once.
func (f *Frontend) target(ctx context.Context, p place, target string) (core.SuspendedCall, error) {
	if seq, ok := core.SuspensionSeq(target); ok && seq > p.record.Seq0 && seq <= p.record.Seq {
		call, err := f.suspension(ctx, p, target)
		if !errors.Is(err, errNoSuspension) {
			return call.SuspendedCall, err
		}
	}
	if call, ok := p.head.Calls[target]; ok && p.current && call.Times > 0 {
		if call.Times > 1 {
			return core.SuspendedCall{}, suspensionIDRequired()
		}
		found, err := f.suspension(ctx, p, call.Sus)
		return found.SuspendedCall, err
	}
	return f.targetInJournal(ctx, p, target)
}

func suspensionIDRequired() *Error {
	return refuse(CodeSuspensionIDRequired, "the call was suspended more than once; name the suspension")
}

// targetInJournal is for a call of an earlier round, or of a run that is over.
func (f *Frontend) targetInJournal(ctx context.Context, p place, id string) (core.SuspendedCall, error) {
	var found []core.SuspendedCall
	var broken error
	_, known := p.head.Calls[id]
	known = known && p.current
	err := f.journal(ctx, p, p.record.Seq0+1, func(s core.Segment) bool {
		var waiting []waitingCall
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
		return core.SuspendedCall{}, refuse(CodeNotSuspended, "the call does not wait for an answer")
	}
	return core.SuspendedCall{}, callNotFound()
}

func callNotFound() *Error {
	return refuse(CodeCallNotFound, "the run has no call or suspension with this id; read the run again for what it waits for")
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

// waitingCall is a suspended call and since when it waits.
type waitingCall struct {
	core.SuspendedCall
	since int64
}

var errNoSuspension = errors.New("frontend: no such suspension in its segment")

// suspension reads what the journal holds of a suspension of the run. [errNoSuspension] if there is none of that id.
func (f *Frontend) suspension(ctx context.Context, p place, sus string) (waitingCall, error) {
	seq, ok := core.SuspensionSeq(sus)
	if !ok {
		return waitingCall{}, errNoSuspension
	}
	waiting, err := f.suspendedAt(ctx, p, seq)
	if err != nil {
		return waitingCall{}, err
	}
	for _, w := range waiting {
		if w.Suspension.ID == sus {
			return w, nil
		}
	}
	return waitingCall{}, errNoSuspension
}

// suspendedAt are the suspensions of one segment, in order.
func (f *Frontend) suspendedAt(ctx context.Context, p place, seq int64) ([]waitingCall, error) {
	s, err := f.segment(ctx, p, seq)
	if err != nil {
		return nil, err
	}
	return suspensionsIn(s)
}

func suspensionsIn(s core.Segment) ([]waitingCall, error) {
	var waiting []waitingCall
	for _, e := range s.Events {
		if e.Type != core.EventCallSuspended {
			continue
		}
		w := waitingCall{since: e.At}
		if err := json.Unmarshal(e.Data, &w.SuspendedCall); err != nil {
			return nil, fmt.Errorf("frontend: event %d: %w", e.Seq, err)
		}
		waiting = append(waiting, w)
	}
	return waiting, nil
}
