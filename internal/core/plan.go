package core

import (
	"encoding/json"
	"errors"
)

// View is everything [Decide] may look at.
type View struct {
	Head  Head // as the owner's last write, or its last look, found it: the inbox included
	Round Round
	Rules Rules
	State State
	Now   int64

	Hooked map[Phase]bool // phases in which some hook wants to be called

	Limits   Limits
	Notify   bool                       // somebody is to be told of suspensions
	Payloads map[string]json.RawMessage // what the signals in the inbox refer to, by digest
	Used     map[string]bool            // call ids the thread has used; needed with Turn
	Fresh    func() string              // unguessable text, new each time
	Put      int                        // number of the next write within this activation

	// TimeUp: too little of the activation is left to begin a body or a model call, and the next one will have more.
	TimeUp bool

	// Asked: this activation has called the model; it does not call it twice.
	Asked bool

	// What was done since the last commit, in order. A commit that lands contains it.
	Turn     *Turn
	Failure  *ModelFailure
	Outcomes []BodyOutcome
	Fired    []Fired
	Sent     []string // outbox keys
	NotSent  bool     // something in the outbox could not be sent

	// Broken: the run cannot go on whatever is tried, for example because its pinned version is gone.
	Broken *Reason
}

// Limits bound what a run may cost when something is wrong.
type Limits struct {
	BodyTries  int // claims without a commit after which a body is taken to be what kills the process
	Claims     int // claims without a commit after which the run ends
	ModelTries int // failed model calls in a row after which the run ends
	Calls      int // calls in one round
}

// DefaultLimits are the limits of a run unless it is told otherwise.
var DefaultLimits = Limits{BodyTries: 3, Claims: 8, ModelTries: 5, Calls: 64}

// BodyOutcome is what came of running one call's body. Interrupted says that the body was stopped before it told.
type BodyOutcome struct {
	CallID string
	Outcome
	Interrupted bool
}

// ModelFailure is a model call without a turn.
type ModelFailure struct {
	Reason Reason // Stopped or Failed
	Again  bool   // it may pass: try again later
}

// Plan is the one next thing to do; exactly one field is set. After a Commit the plan is made anew from what was
// committed, so that work after a crash and work without one are asked for in the same way.
type Plan struct {
	// Commit must be durable before anything else is done. If it is refused because of unseen signals, nothing of it
	// holds: look at the head again and decide again, with a higher Put. If it is refused by epoch, stop.
	Commit *Commit

	// Run is a body to execute. Everything that allows it is committed: the turn that asked for it, the decision that
	// approved it, and, at most once, the intent of exactly this attempt.
	Run *BodyRun

	// Ask is set to call the model with the whole transcript.
	Ask bool

	// Fire asks for the hooks of a phase; their answer goes into the view, and the plan is made again.
	Fire *Firing

	// Send are outbox keys to send, at least once each; a commit has named them.
	Send []string
}

// Commit is one write of the owner: a segment and the head after it.
type Commit struct {
	Head    Head
	Segment *Segment // nil: the head alone changes
	Drained []string
	AllSeen bool   // a door closes: no signal may be unseen
	Due     *int64 // for the index; nil: as it is
	Wake    *int64 // send a wake-up this many ms later
	State   State  // after it, for the view
	Over    bool   // the claim is given up with this write
}

// BodyRun is one execution of a call.
type BodyRun struct {
	Call       ToolCall
	Attempt    int
	AtMostOnce bool
	Resume     *Resume // the decision, in the mode that passes it on
}

// RetryDue is how long after a write the sweep looks, in case the wake-up was lost.
const RetryDue = 5000

// Decide says what the owner of a run does next. It is pure but for v.Fresh: the same view, the same plan.
func Decide(v View) (Plan, error) {
	d := newDraft(v)
	d.foldSent()
	if v.Head.End != nil {
		return d.afterEnd()
	}
	if err := d.foldTurn(); err != nil {
		return Plan{}, err
	}
	if err := d.foldOutcomes(); err != nil {
		return Plan{}, err
	}
	if reason := d.mustEnd(); reason != nil {
		return d.end(*reason)
	}
	if err := d.drain(true); err != nil {
		return Plan{}, err
	}
	if plan, settled, err := d.foldFailure(); settled || err != nil {
		return plan, err
	}
	if err := d.settle(); err != nil {
		return Plan{}, err
	}
	return d.next()
}

// mustEnd says why the run ends here, whatever else there is to do.
func (d *draft) mustEnd() *Reason {
	switch _, cancelled := d.h.Inbox[KeyCancel]; {
	case cancelled:
		return &Reason{Kind: Cancelled}
	case d.h.Tries > d.v.Limits.Claims:
		return &Reason{Kind: Failed, Code: "crash_loop", Detail: "the process was lost again and again while working on this run"}
	}
	return d.v.Broken
}

// next is asked when everything known is folded in and every call that needs no body is settled.
func (d *draft) next() (Plan, error) {
	if call, ok := d.runnable(); ok {
		if d.v.TimeUp && d.h.Calls[call.ID].Intent != d.h.Epoch {
			return d.releasePartial()
		}
		return d.run(call)
	}
	switch AggregateOf(d.h.Calls) {
	case Waiting:
		return d.releaseWaiting()
	case Executing:
		return Plan{}, errors.New("core: a call can go on, and there is nothing to do for it")
	}
	if !d.finalTurn {
		d.endStep()
	}
	if d.finalTurn && !d.userSpoke {
		return d.end(Reason{Kind: NaturalEnd})
	}
	if d.v.Asked || d.h.NotBefore > d.v.Now {
		return d.releaseRunning()
	}
	switch {
	case d.v.TimeUp:
		return d.releasePartial()
	case d.dirty():
		return d.commit(), nil
	}
	return Plan{Ask: true}, nil
}

// run makes what allows the body durable, then asks for it.
func (d *draft) run(call ToolCall) (Plan, error) {
	c := d.h.Calls[call.ID]
	amo := d.atMostOnce(call)
	if amo && c.Intent != d.h.Epoch {
		if err := d.begin(call); err != nil {
			return Plan{}, err
		}
		d.setIntent(call.ID)
		d.must = true
	}
	if d.must {
		return d.commit(), nil
	}
	run := &BodyRun{Call: call, Attempt: c.Attempt, AtMostOnce: amo}
	if rec, ok := d.round.Decisions[c.Passed]; ok {
		run.Resume = &rec.Resume
	}
	return Plan{Run: run}, nil
}
