package query

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// States of a [wire.Outcome].
const (
	OutcomeAnswered = "answered"  // a caller decided
	OutcomeTimedOut = "timed_out" // the deadline passed without a decision
	// the question is gone: the run ended, or went on without an answer
	OutcomeWithdrawn = "withdrawn"
)

// Outcome says what became of a suspension of a run that does not wait any more, or whose deadline
// has passed.
func (f *Reader) Outcome(ctx context.Context, c frontend.Caller, run, sus string) (wire.Outcome, error) {
	p, err := f.Find(ctx, c.Tenant, run)
	if err != nil {
		return wire.Outcome{}, err
	}
	asked, err := f.FindSuspension(ctx, p, sus)
	if errors.Is(err, journal.ErrNoSuspension) || err == nil && asked.Kind == core.KindChild {
		err = frontend.CallNotFound() // a child is waited for, and no question is asked
	}
	if err != nil {
		return wire.Outcome{}, err
	}
	o := wire.Outcome{RunID: run, ThreadID: p.Record.Thread, Agent: p.Record.Agent, CallID: asked.CallID, Tool: asked.ToolName, Suspension: sus,
		ResumeMode: asked.Mode().String(), Since: wire.Millis(asked.Since), State: OutcomeWithdrawn}
	if asked.Deadline != 0 {
		deadline := wire.Millis(asked.Deadline)
		o.Deadline = &deadline
	}
	if s, waits := p.Head.Inbox[sus]; p.Current && waits {
		err := f.storedOutcome(ctx, p, s, &o)
		return o, err
	}
	if err := f.journalOutcome(ctx, p, sus, &o); err != nil {
		return o, err
	}
	if o.State == OutcomeWithdrawn && f.Passed(asked.SuspendedCall) && journal.OpenSuspensions(p)[sus] {
		o.State = OutcomeTimedOut // and what the deadline does is not done yet
	}
	return o, nil
}

// storedOutcome is a decision that is stored and not yet taken up.
func (f *Reader) storedOutcome(ctx context.Context, p journal.Place, s core.Signal, o *wire.Outcome) error {
	first, err := f.FirstResume(ctx, p.Head, s)
	if err != nil {
		return err
	}
	o.State, o.Decision = OutcomeAnswered, verdictOf(first, s.By, s.Via)
	if hold.Held(s, f.Now()) {
		at := wire.Millis(s.Hold)
		o.AppliesAt = &at
	}
	return nil
}

// journalOutcome reads the decision on the suspension, and how its call ended, from where it was
// suspended on.
func (f *Reader) journalOutcome(ctx context.Context, p journal.Place, sus string, o *wire.Outcome) error {
	seq, _ := core.SuspensionSeq(sus)
	var broken error
	err := f.Journal(ctx, p, seq, func(s core.Segment) bool {
		for _, e := range s.Events {
			if broken = noteOutcome(e, s.Seq == seq, o); broken != nil || o.Call != "" {
				return false
			}
		}
		return true
	})
	return errors.Join(err, broken)
}

// callEnds are the events that end a suspended call, as [wire.Outcome] names them.
var callEnds = map[core.EventType]string{core.EventCallSucceeded: "succeeded", core.EventCallFailed: "failed",
	core.EventCallCancelled: "cancelled", core.EventCallSuspended: "suspended"}

// noteOutcome takes from an event what it says of the suspension. A call that is suspended once
// more ends the story of this one.
func noteOutcome(e core.Event, first bool, o *wire.Outcome) error {
	ends, ended := callEnds[e.Type]
	switch {
	case e.Type == core.EventDecisionRecorded:
		var rec core.DecisionRecord
		if err := json.Unmarshal(e.Data, &rec); err != nil {
			return err
		}
		if rec.Suspension == o.Suspension && !rec.Late && !rec.LeavesOpen() && o.Decision == nil {
			o.State, o.Decision = OutcomeAnswered, verdictOf(rec.Resume, rec.By, rec.Via)
			o.Decision.Applied, o.Decision.Silent = &rec.Applied, rec.Silent
			if rec.TimedOut {
				o.State = OutcomeTimedOut
			}
		}
	case ended && !(first && e.Type == core.EventCallSuspended):
		var call core.CallState
		if err := json.Unmarshal(e.Data, &call); err != nil {
			return err
		}
		if call.CallID == o.CallID {
			o.Call = ends
		}
	}
	return nil
}

func verdictOf(r core.Resume, by, via string) *wire.OutcomeDecision {
	return &wire.OutcomeDecision{DecisionID: r.DecisionID, Action: r.Action.String(), Error: r.Error, Reason: r.Reason, By: by, Via: via, At: wire.Millis(r.UpdatedAt)}
}
