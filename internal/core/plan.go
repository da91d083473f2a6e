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

	Revision Revision  // of State
	Gates    *GateMemo // what the gate has said of calls; nil: it is asked each time

	Hooked map[Phase]bool // phases in which some hook wants to be called

	Limits   Limits
	Notify   bool                       // somebody is to be told of suspensions
	Payloads map[string]json.RawMessage // what the signals in the inbox refer to, by digest
	Used     map[string]bool            // call ids the thread has used; needed with Turn
	Fresh    func() string              // unguessable text, new each time
	Put      int                        // number of the next write within this activation

	// TimeUp: too little of the activation is left to begin a body or a model call, and the next one will have more.
	TimeUp bool

	// Orphaned: nothing was committed since the run was taken over from an owner that was lost, see [Head.Orphaned].
	Orphaned bool

	// Asked: this activation has called the model; it does not call it twice.
	Asked bool

	// Cancelled: whoever runs the engine wants the run to end.
	Cancelled bool

	// What was done since the last commit, in order. A commit that lands contains it.
	Turn     *Turn
	Yielded  bool // Turn is not accepted: others come first
	Failure  *ModelFailure
	Outcomes []BodyOutcome
	InFlight []InFlight    // bodies that this owner has begun and that have not ended yet, in the order they began
	Unseen   []BodyOutcome // committed outcomes that some body in flight has not seen
	Fired    []Fired
	Sent     []Sent
	Previews []Previewed
	NotSent  bool // something in the outbox could not be sent

	// Park: the agent cannot be used now. The run is given back as it is, and comes again this many ms later; 0 if it can.
	Park int64

	// Late: the lease is too near its end to begin anything. Finished work is committed, and the claim given up.
	Late bool

	// Ending is why the run ends, once bodies were stopped for it. Their outcomes don't change it.
	Ending *Reason

	// Broken: the run cannot go on whatever is tried, for example because its pinned version is gone.
	Broken *Reason
}

// Limits bound what a run may cost when something is wrong.
type Limits struct {
	BodyTries  int // claims without a commit after which a body is taken to be what kills the process
	Claims     int // claims without a commit after which the run ends
	ModelTries int // answers in a row that were no turn after which the run ends
	Calls      int // calls in one round

	// Outage is how many ms a run waits for a model that does not answer, from the first failure in a row on, where its definition
	// does not say. Then the run ends.
	Outage int64
}

// DefaultLimits are the limits of a run unless it is told otherwise.
var DefaultLimits = Limits{BodyTries: 3, Claims: 8, ModelTries: 5, Calls: 64, Outage: 24 * 60 * 60_000}

// BodyOutcome is the result of running one call's body.
type BodyOutcome struct {
	CallID string
	Nth    int // counts the outcomes of an activation from 1, in the order of arrival
	Saw    int // the body has seen the state that outcomes 1 to Saw wrote
	Outcome
	Interrupted bool // the body was stopped, or abandoned, before it returned
	Stopping    bool // it was interrupted because the run ends
	Missing     bool // the program has no body of this tool: none ran

	Began, Ended int64 // when the body began and ended
}

// overlaps says whether two bodies ran without seeing each other's writes.
func (o BodyOutcome) overlaps(other BodyOutcome) bool { return o.Nth > other.Saw && other.Nth > o.Saw }

// InFlight is a body that was begun and has not returned. The planner skips its call: planned again, it would run twice.
type InFlight struct {
	CallID string
	Saw    int // see [BodyOutcome]
}

// Sent is an outbox entry that needs no sending any more. Failed says what went wrong with one that is sent only once.
type Sent struct{ Key, Failed string }

// ModelFailure is a model call without a turn.
type ModelFailure struct {
	Reason Reason // Stopped or Failed
	Again  bool   // it may pass: try again later
	After  int64  // ms that the provider wants to be left alone for; 0 if it did not say

	// Answered: the model answered, and what it said is no turn. Asking again costs as much each time.
	Answered bool
}

// Plan is the one next thing to do: one of the types below. After a [*Commit] the plan is made anew from what was committed, so that
// work after a crash and work without one are asked for in the same way.
type Plan interface{ plan() }

// Commit is one write of the owner: a segment and the head after it. It must be durable before anything else is done. If it is refused
// because of unseen signals, nothing of it holds: look at the head again and decide again, with a higher Put. If it is refused by
// epoch, stop. State, Revision, Round and Fired are what the next decision looks at.
type Commit struct {
	Head    Head
	Segment *Segment // nil: the head alone changes
	Drained []string
	AllSeen bool   // closing commit: conditional on there being no unread signals
	Due     *int64 // for the index; nil: as it is
	Wake    *int64 // send a wake-up this many ms later
	Over    bool   // the claim is given up with this write
	State   State
	Round   Round
	Fired   []Fired // what hooks have answered that is not part of it

	Revision Revision // of State
}

// RunBodies are bodies to execute, side by side if there are several. Everything that allows them is committed: the turn that asked
// for them, the decisions that approved them, and, at most once, the intent of exactly this attempt.
type RunBodies []BodyRun

// AwaitBodies: the next thing to do depends on a body in flight that ends, or on a decision that arrives.
type AwaitBodies struct{}

// StopBodies: the run ends while bodies are in flight. Stop them first; their outcomes go into the view, and the reason into
// [View.Ending].
type StopBodies struct{ Reason Reason }

// AskModel is a model call with the whole transcript. All that the model will see is committed.
type AskModel struct{ Request }

// FireHooks asks for the hooks of a phase; their answer goes into the view, and the plan is made again.
type FireHooks struct{ Firing }

// ReadPreview is the call of a tool that only reads, for the approver of another call. What comes of it goes into the view, and the plan
// is made again. Nothing is committed before it: after a crash it is called again.
type ReadPreview struct{ Call ToolCall }

// SendOutbox names outbox entries to send, at least once each; a commit has named them.
type SendOutbox struct{ Keys []string }

// StartHeld gives the place in the head to the run that a held message begins. The end of this run is committed. The claim is
// given up with it.
type StartHeld struct{ Held Held }

func (*Commit) plan()     {}
func (RunBodies) plan()   {}
func (AwaitBodies) plan() {}
func (StopBodies) plan()  {}
func (AskModel) plan()    {}
func (FireHooks) plan()   {}
func (ReadPreview) plan() {}
func (SendOutbox) plan()  {}
func (StartHeld) plan()   {}

// BodyRun is one execution of a call, with the arguments that run.
type BodyRun struct {
	Call       ToolCall
	Attempt    int
	AtMostOnce bool
	Resume     *Resume         // the decision, in the mode that passes it on
	State      State           // as the body sees it
	Scratch    json.RawMessage // what the call kept when it began to wait; nil: nothing
	Again      bool            // it may have begun before, in a process that was lost; never so if it is AtMostOnce
}

// RetryDue is how long after a write the sweep looks, in case the wake-up was lost.
const RetryDue = 5000

// Decide says what the owner of a run does next. It is pure but for v.Fresh and for what v.Gates remembers: the same view, the same plan.
func Decide(v View) (Plan, error) {
	plan, err := newDraft(v).decide()
	if torn, ok := errors.AsType[conflict](err); ok {
		plan, err = newDraft(v).endInConflict(torn)
	}
	if hooks, ok := errors.AsType[unfired](err); ok {
		return FireHooks{hooks.Firing}, nil
	}
	if ahead, ok := errors.AsType[unpreviewed](err); ok {
		return ReadPreview{ahead.read}, nil
	}
	return plan, err
}

func (d *draft) decide() (Plan, error) {
	d.foldSent()
	if d.parked() {
		return d.park(), nil
	}
	if d.h.End != nil {
		return d.afterEnd()
	}
	d.yield()
	if err := d.foldTurn(); err != nil {
		return nil, err
	}
	if err := d.foldOutcomes(); err != nil {
		return nil, err
	}
	if reason := d.mustEnd(); reason != nil {
		return d.end(*reason)
	}
	if err := d.drain(true); err != nil {
		return nil, err
	}
	if plan, settled, err := d.foldFailure(); settled || err != nil {
		return plan, err
	}
	if err := d.startRun(); err != nil {
		return nil, err
	}
	return d.goOn()
}

// goOn settles what can be settled and asks what is next.
func (d *draft) goOn() (Plan, error) {
	if d.over == nil {
		if err := d.settle(); err != nil {
			return nil, err
		}
	}
	if d.over == nil {
		d.over = d.v.Ending
	}
	if d.over != nil {
		return d.end(*d.over)
	}
	return d.next()
}

// mustEnd says why the run ends here, whatever else there is to do.
func (d *draft) mustEnd() *Reason {
	switch cancel, cancelled := d.h.Inbox[KeyCancel]; {
	case cancelled, d.v.Cancelled:
		return &Reason{Kind: Cancelled, By: cancel.By, Via: cancel.Via}
	case d.h.Tries > d.v.Limits.Claims:
		return &Reason{Kind: Failed, Code: "crash_loop", Detail: "the process was lost again and again while working on this run"}
	case d.v.Broken != nil:
		return d.v.Broken
	}
	return d.over
}

// next is asked when everything known is folded in and every call that needs no body is settled.
func (d *draft) next() (Plan, error) {
	if d.paused() {
		if begun := d.intended(d.round.Calls); len(begun) > 0 {
			return d.run(begun) // an intent is committed, and nobody could tell later that the body did not run
		}
		if d.flying() {
			return d.await(), nil
		}
		return d.releaseWaiting()
	}
	if batch := d.batch(); len(batch) > 0 {
		return d.run(batch)
	}
	if d.flying() {
		return d.await(), nil
	}
	if plan, finished, err := d.finish(); finished || err != nil {
		return plan, err
	}
	round := AggregateOf(d.h.Calls)
	switch {
	case round == Executing:
		return nil, errors.New("core: a call can go on, and there is nothing to do for it")
	case round == Waiting && !d.goesOn():
		return d.releaseWaiting()
	}
	if err := d.placeHeld(); err != nil {
		return nil, err
	}
	if err := d.endStep(); err != nil {
		return nil, err
	}
	switch {
	case d.over != nil:
		return d.end(*d.over)
	case round == StepComplete && d.h.Told:
		return d.end(Reason{Kind: NaturalEnd})
	case d.v.Asked || d.h.NotBefore > d.v.Now:
		return d.releaseRunning()
	case d.v.TimeUp, d.v.Late:
		return d.releasePartial()
	case d.dirty():
		return d.commit(), nil
	}
	return d.ask()
}

// goesOn says whether the model is asked although calls wait: the definition wants it, there is something new for the model to see,
// what waits is a call of the model's, and the head has room for more.
func (d *draft) goesOn() bool {
	if !d.v.Rules.Terms().Continue || d.h.Told {
		return false
	}
	open := 0
	for _, c := range d.h.Calls {
		if c.Pseudo && !c.Status.Terminal() {
			return false
		}
		if !c.Status.Terminal() {
			open++
		}
	}
	return open < d.v.Limits.Calls
}
