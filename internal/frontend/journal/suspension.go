package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"slices"
)

// WaitingCall is a suspended call and since when it waits.
type WaitingCall struct {
	core.SuspendedCall
	Since int64
}

// ErrNoSuspension: the segment that an id names has no suspension of that id.
var ErrNoSuspension = errors.New("journal: no such suspension in its segment")

// FindSuspension reads what the journal holds of a suspension of the run, with who is asked now.
// [ErrNoSuspension] if there is none of that id.
func (r *Reader) FindSuspension(ctx context.Context, p Place, sus string) (WaitingCall, error) {
	seq, ok := core.SuspensionSeq(sus)
	if !ok {
		return WaitingCall{}, ErrNoSuspension
	}
	waiting, err := r.SuspendedAt(ctx, p, seq)
	if err != nil {
		return WaitingCall{}, err
	}
	for _, w := range waiting {
		if w.Suspension.ID == sus {
			return w.now(p), nil
		}
	}
	return WaitingCall{}, ErrNoSuspension
}

// now is the suspension with what escalations have changed of who is asked.
func (w WaitingCall) now(p Place) WaitingCall {
	if p.Current {
		w.SuspendedCall = w.As(p.Head.Calls[w.CallID])
	}
	return w
}

// SuspendedAt are the suspensions of one segment, in order, as they were when they began to wait.
func (r *Reader) SuspendedAt(ctx context.Context, p Place, seq int64) ([]WaitingCall, error) {
	s, err := r.Segment(ctx, p, seq)
	if err != nil {
		return nil, err
	}
	return SuspensionsIn(s)
}

// SuspensionsIn are the suspensions that a segment records, in order.
func SuspensionsIn(s core.Segment) ([]WaitingCall, error) {
	var waiting []WaitingCall
	for _, e := range s.Events {
		if e.Type != core.EventCallSuspended {
			continue
		}
		w := WaitingCall{Since: e.At}
		if err := json.Unmarshal(e.Data, &w.SuspendedCall); err != nil {
			return nil, fmt.Errorf("journal: event %d: %w", e.Seq, err)
		}
		waiting = append(waiting, w)
	}
	return waiting, nil
}

// Waiting are the run's suspended calls without an answer, oldest suspension first.
func (r *Reader) Waiting(ctx context.Context, p Place) ([]WaitingCall, error) {
	open := OpenSuspensions(p)
	var calls []WaitingCall
	for _, seq := range SegmentsOf(open) {
		there, err := r.SuspendedAt(ctx, p, seq)
		if err != nil {
			return nil, err
		}
		for _, w := range there {
			if open[w.Suspension.ID] && Standing(p.Head, w.SuspendedCall) == vote.Open {
				calls = append(calls, w.now(p))
			}
		}
	}
	return calls, nil
}

// OpenSuspensions are the ids of the suspensions that wait for an answer in a run; none if the run
// takes none any more. A call that another run works for waits for no answer.
func OpenSuspensions(p Place) map[string]bool {
	open := map[string]bool{}
	if !p.Current || p.Head.End != nil || !p.Head.Open() {
		return open
	}
	for _, call := range p.Head.Calls {
		if _, answered := p.Head.Inbox[call.Sus]; call.Status == core.CallSuspended && call.Kind != core.KindChild && !answered {
			open[call.Sus] = true
		}
	}
	return open
}

// Standing is what the votes on a suspension come to that are stored. A call that one person
// decides is always open here: its decision is in the inbox under the id of the suspension.
func Standing(h core.Head, call core.SuspendedCall) vote.Standing {
	if !call.Counted() {
		return vote.Open
	}
	stage := call.Asked()
	return h.Votes[call.Suspension.ID].Standing(stage.Need, stage.Deny())
}

// SegmentsOf are the segments in which suspensions were committed, in order and each once.
func SegmentsOf(suspensions map[string]bool) []int64 {
	var seqs []int64
	for sus := range suspensions {
		if seq, ok := core.SuspensionSeq(sus); ok {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// SuspensionPlace is the run in which a call was suspended: the id names the thread and the
// segment, and the segment the run.
func (r *Reader) SuspensionPlace(ctx context.Context, tenant, sus string) (Place, error) {
	thread, ok := core.SuspensionThread(sus)
	if !ok || len(sus) > MaxID {
		return Place{}, suspensionNotFound()
	}
	head, err := r.LoadThread(ctx, tenant, thread)
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
	s, err := r.Segment(ctx, Place{Head: head, Record: head.Record(), Current: true}, seq)
	if err != nil {
		return Place{}, err
	}
	for _, e := range s.Events {
		if e.Type == core.EventCallSuspended {
			p, err := r.Find(ctx, tenant, e.RunID)
			if refused, is := errors.AsType[*refusal.Error](err); is && refused.Code == refusal.CodeRunNotFound {
				err = suspensionNotFound()
			}
			if err != nil {
				return Place{}, err
			}
			_, err = r.FindSuspension(ctx, p, sus)
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
