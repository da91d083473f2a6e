// Package plans defines what the planner reads and what it returns. A [View] is everything that it
// may look at: the committed head, its round and state, and what was done since the last commit. A
// [Plan] is the next thing to do.
package plans

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// View is everything the planner may look at.
type View struct {
	Head  core.Head // as the owner's last write, or its last look, found it: the inbox included
	Round core.Round
	Rules core.Rules
	State core.State
	Now   int64

	Supplied supplied.Input // by the start of the run, as far as its agent accepts it

	Revision Revision  // of State
	Gates    *GateMemo // what the gate has said of calls; nil: it is asked each time

	Hooked map[core.Phase]bool // phases in which some hook wants to be called

	Limits     Limits
	Notices    notice.Set                 // what anyone has subscribed to
	Payloads   map[string]json.RawMessage // what the signals in the inbox refer to, by digest
	UsedCallID func(id string) bool       // whether a call has the id; needed with Turn
	Fresh      func() string              // unguessable text, new each time
	Agents     map[string]FoundAgent      // what [FindAgent] has found, by name
	Put        int                        // number of the next write within this activation

	Conditions
	Results
}

// Conditions are the circumstances of the activation that decides.
type Conditions struct {
	// TimeUp: too little of the activation is left to begin a body or a model call, and the
	// next one will have more.
	TimeUp bool

	// LeaseEnding: the lease is too near its end to begin anything. Finished work is committed,
	// and the claim given up.
	LeaseEnding bool

	// Orphaned: nothing was committed since the run was taken over from an owner that crashed,
	// see [core.Head.Orphaned].
	Orphaned bool

	// ModelAsked: this activation has called the model; it does not call it twice.
	ModelAsked bool

	// Disowned: the run has committed nothing, and the run that started it no longer waits for
	// it.
	Disowned bool

	// AncestorGone: one of the runs above has ended, was cancelled or no longer waits for the
	// one below it. Looked at before an answer is applied, see [AsksAncestors].
	AncestorGone bool

	// ParentPaused is the interrupt that the run above is paused by; empty if it is not. Looked
	// at before an interrupt from above, or its end, is applied.
	ParentPaused string

	// Cancelled: the program that runs the engine wants the run to end.
	Cancelled bool

	// ParkFor: the agent cannot be used now. The run is given back as it is, and comes again
	// this many ms later; 0 if it can.
	ParkFor int64

	// Ending is why the run ends, once bodies were stopped for it. Their outcomes don't change
	// it.
	Ending *core.Reason

	// Broken: the run can't continue under any circumstances, for example because the agent
	// version it is pinned to is gone.
	Broken *core.Reason
}

// Results are what was done since the last commit, in order. A commit that lands contains it.
type Results struct {
	Turn     *core.Turn
	Yielded  bool // Turn is not accepted: others come first
	Failure  *ModelFailure
	Outcomes []BodyOutcome
	// bodies that this owner has begun and that have not ended yet, in the order they began
	InFlight []InFlight
	Unseen   []BodyOutcome // committed outcomes that some body in flight has not seen
	Fired    []core.Fired
	Sent     []Sent
	Previews []Previewed
	Reported *Reported
	NotSent  bool // something in the outbox could not be sent
}

// BodyOutcome is the result of running one call's body.
type BodyOutcome struct {
	CallID string
	Nth    int // counts the outcomes of an activation from 1, in the order of arrival
	Saw    int // the body has seen the state that outcomes 1 to Saw wrote
	core.Outcome
	Interrupted bool // the body was stopped, or abandoned, before it returned
	Stopping    bool // it was interrupted because the run ends
	Missing     bool // the program has no body of this tool: none ran

	Began, Ended int64 // when the body began and ended
}

// overlaps says whether two bodies ran without seeing each other's writes.
func (o BodyOutcome) overlaps(other BodyOutcome) bool { return o.Nth > other.Saw && other.Nth > o.Saw }

// InFlight is a body that was begun and has not returned. The planner skips its call: planned
// again, it would run twice.
type InFlight struct {
	CallID string
	Saw    int // see [BodyOutcome]
}

// Reported is what an agent elsewhere has answered, or why it has not.
type Reported struct {
	peer.Report
	Silence string // there is no answer, and this is why
	Again   bool   // an earlier owner may have sent the task
}

// Sent is an outbox entry that needs no sending any more. Failed says what went wrong with one that
// is sent only once.
type Sent struct{ Key, Failed string }

// ModelFailure is a model call without a turn.
type ModelFailure struct {
	Reason    core.Reason // Stopped or Failed
	Retryable bool        // it may pass: try again later
	// ms that the provider wants to be left alone for; 0 if it did not say
	After int64

	// Answered: the model answered, and what it said is no turn. Asking again costs as much
	// each time.
	Answered bool
}

// After is the view once a commit has landed as next: what was folded in is done.
func (v View) After(next core.Head, c *Commit) View {
	v.Results = Results{InFlight: v.InFlight, Unseen: v.unseen(), Fired: c.Fired}
	v.State, v.Revision, v.Round, v.Head, v.Orphaned = c.State, c.Revision, c.Round, next, false
	return v
}

// Contradiction is the conflict between the writes of bodies that overlapped; nil if there is none.
func (v View) Contradiction() error {
	for i, o := range v.Outcomes {
		for _, other := range slices.Concat(v.Unseen, v.Outcomes[:i]) {
			if len(o.State) == 0 || len(other.State) == 0 || !o.overlaps(other) {
				continue
			}
			if _, err := core.Merge(other.State, o.State); err != nil {
				return err
			}
		}
	}
	return nil
}

// unseen are the outcomes, committed or about to be, that some body in flight has not seen.
func (v View) unseen() (unseen []BodyOutcome) {
	for _, o := range slices.Concat(v.Unseen, v.Outcomes) {
		if slices.ContainsFunc(v.InFlight, func(f InFlight) bool { return o.Nth > f.Saw }) {
			unseen = append(unseen, o)
		}
	}
	return unseen
}

// AsksAncestors says whether the next decision about a child may apply an answer, or a deadline in
// place of one. The runs above it are looked at first: a body must not run on an approval that was
// given after one of them was cancelled.
//
//	root: cancel accepted ── leaf: approval accepted ── leaf: drain ── the cancel comes down
func AsksAncestors(h core.Head, now int64) bool {
	if h.Parent == nil || h.End != nil {
		return false
	}
	for key, s := range h.Inbox {
		switch s.Kind {
		case core.SignalDecision, core.SignalVote, core.SignalMessage, core.SignalContinue:
			return true
		case core.SignalPause:
			if key != core.KeyPause {
				return true
			}
		}
	}
	return h.Deadline != 0 && h.Deadline <= now
}
