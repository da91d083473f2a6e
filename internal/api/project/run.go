// Package project folds the events of a run into what a person sees who talks to its agent:
// messages, and for each of them one answer of several steps, whose calls may wait for people. What
// the protocols of stock clients show is a projection of this.
//
// A run may have started others, for its calls. What these ask is asked by the answer whose call
// they work for; nothing else of them is shown. Their events have a path.
//
// It is pure. The same events give the same fold, and a fold may be fed in pieces: that of a whole
// journal equals that of its first part, continued with the rest.
package project

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Run is the fold over the events of one run, and of those below it, in their order. The zero value
// has seen none. Live events don't change it.
type Run struct {
	ID, Thread string
	Seq        int64 // of the last event of the run itself
	Turn       int   // and its turn

	// Answers counts the user's messages so far: each begins an answer, which goes on until the
	// next message, through all the turns that decisions began.
	Answers int
	Message string // the id of the last of them

	// StepCalls is how many calls the last step has requested.
	StepCalls int

	// InTurn: a turn has begun and not ended.
	InTurn bool

	// Ended is the end of the last turn, if none has begun since.
	Ended *wire.TurnEndedData

	calls     map[string]*Call     // by key
	questions map[string]*Question // by suspension
	asked     []*Question          // in the order in which they were asked
	ended     int                  // the last turn that has ended
}

// Call is one tool call.
type Call struct {
	ID, Tool  string
	Arguments json.RawMessage
	Path      []wire.PathStep // to the run that made it; none for the run itself
	Client    bool            // the client runs the tool
	Answer    int             // the one that it is part of
	Moved     bool            // it was part of an earlier one, before the user's message
	Step      int             // that requested it
	Waits     bool            // it is suspended, on Asked
	Asked     *Question       // the newest; nil if it was never suspended
	Ended     *wire.CallEndedData

	above *Call // that the run works for; nil for a call of the run itself
}

// Below says whether a run below made the call.
func (c *Call) Below() bool { return len(c.Path) > 0 }

// Key is the id of the call among all that the run and those below it have made.
func (c *Call) Key() string {
	if !c.Below() {
		return c.ID
	}
	return key(c.Path, c.ID)
}

func key(path []wire.PathStep, call string) string {
	if len(path) == 0 {
		return call
	}
	return path[len(path)-1].RunID + "." + call
}

// Top is the call of the run itself that the call is part of.
func (c *Call) Top() *Call {
	for c.above != nil {
		c = c.above
	}
	return c
}

// Agent is the one whose run made the call; empty for the run itself.
func (c *Call) Agent() string {
	if !c.Below() {
		return ""
	}
	return c.Path[len(c.Path)-1].Agent
}

// Question is one suspension of a call.
type Question struct {
	*wire.Pending
	Call *Call

	// Turn is the last turn of the run itself that ended while the question was open, or before
	// a run below asked it; 0 if none has. What its answer brings comes in later ones.
	Turn int

	// Recorded: a decision has reached the run, whether it had an effect or not.
	Recorded bool
}

// Open says whether the call still waits for an answer to this question. That of a run whose work
// is not waited for any more is not open, even if the run has yet to learn it.
func (q *Question) Open() bool {
	for c := q.Call.above; c != nil; c = c.above {
		if !c.Waits {
			return false
		}
	}
	return q.Call.Waits && q.Call.Asked == q
}

// Unsettled says whether an answer is under way, or at work: it has yet to be recorded, or the call
// of a run below has yet to end or to ask again.
func (q *Question) Unsettled() bool {
	switch {
	case q.Open():
		return !q.Recorded
	case !q.Call.Below() || q.Call.Ended != nil || q.Call.Asked != q:
		return false
	}
	for c := q.Call.above; c != nil; c = c.above {
		if !c.Waits {
			return false
		}
	}
	return true
}

// AnswerID names an answer, counted as Answers does, the same way each time it is shown. 0 is that
// of a retried run, which begins without a message.
func (r *Run) AnswerID(answer int) string { return fmt.Sprintf("%s.%d", r.ID, answer) }

// Call is the call with this key; nil if none has requested it.
func (r *Run) Call(key string) *Call { return r.calls[key] }

// Of is the call that an event is about; nil if it isn't known.
func (r *Run) Of(e wire.Event, id string) *Call { return r.calls[key(e.Path, id)] }

// Question is the question of this suspension; nil if no run has asked it.
func (r *Run) Question(suspension string) *Question { return r.questions[suspension] }

// Asked are all questions, in the order in which they were asked.
func (r *Run) Asked() []*Question { return r.asked }

// Waiting are the questions that are open, in the order in which they were asked. A run below that
// works is none of them, and neither is one that is interrupted together with this one.
func (r *Run) Waiting() (open []*Question) {
	interrupted := slices.ContainsFunc(r.asked, func(q *Question) bool { return q.isInterrupt() && !q.Call.Below() && q.Open() })
	for _, q := range r.asked {
		if q.Open() && !(q.Call.Below() && (q.Kind == core.KindChild.String() || interrupted && q.isInterrupt())) {
			open = append(open, q)
		}
	}
	return open
}

func (q *Question) isInterrupt() bool { return q.Kind == core.KindInterrupt.String() }

// Push takes the next event. An event whose data doesn't fit its type is an error.
func (r *Run) Push(e wire.Event) error {
	if r.calls == nil {
		r.ID, r.Thread, r.calls, r.questions = e.RunID, e.ThreadID, map[string]*Call{}, map[string]*Question{}
	}
	if len(e.Path) > 0 {
		return r.pushCall(e)
	}
	r.Seq, r.Turn = e.Seq, e.Turn
	switch core.EventType(e.Type) {
	case core.EventTurnStarted:
		r.InTurn, r.Ended = true, nil
	case core.EventMessageReceived:
		return r.messageReceived(e)
	case core.EventTurnEnded:
		return r.turnEnded(e)
	case core.EventStepStarted:
		r.StepCalls = 0
	case core.EventCallReady:
		r.StepCalls++
	}
	return r.pushCall(e)
}

// pushCall takes an event of the run, or of one below, if it is about a call.
func (r *Run) pushCall(e wire.Event) error {
	switch core.EventType(e.Type) {
	case core.EventCallReady:
		return r.callReady(e)
	case core.EventCallSuspended:
		return r.callSuspended(e)
	case core.EventDecisionRecorded:
		return r.decisionRecorded(e)
	case core.EventCallResuming:
		return r.callResuming(e)
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		return r.callEnded(e)
	}
	return nil
}

func (r *Run) messageReceived(e wire.Event) error {
	var data wire.MessageReceivedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	r.Answers, r.Message = r.Answers+1, data.MessageID
	for _, q := range r.asked {
		if q.Call.Below() && q.Open() {
			// it is asked again, where the user is now
			q.Call.Answer, q.Call.Moved = r.Answers, true
		}
	}
	return nil
}

func (r *Run) turnEnded(e wire.Event) error {
	var data wire.TurnEndedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	r.InTurn, r.Ended, r.ended = false, &data, e.Turn
	for _, c := range r.calls {
		if c.Waits {
			c.Asked.Turn = e.Turn
		}
	}
	return nil
}

func (r *Run) callReady(e wire.Event) error {
	var data wire.CallReadyData
	if err := e.Decode(&data); err != nil {
		return err
	}
	r.request(e, &Call{ID: data.CallID, Tool: data.ToolName, Arguments: data.Arguments, Client: data.Client})
	return nil
}

// request adds a call.
func (r *Run) request(e wire.Event, c *Call) {
	c.Answer, c.Step, c.Path = r.Answers, e.Step, e.Path
	if n := len(e.Path); n > 0 {
		c.above = r.calls[key(e.Path[:n-1], e.Path[n-1].CallID)]
	}
	r.calls[c.Key()] = c
}

// callSuspended: a call that waits for the run itself was never ready.
func (r *Run) callSuspended(e wire.Event) error {
	var data wire.Pending
	if err := e.Decode(&data); err != nil {
		return err
	}
	c := r.Of(e, data.CallID)
	if c == nil {
		c = &Call{ID: data.CallID, Tool: data.ToolName, Arguments: data.Arguments}
		r.request(e, c)
	}
	data.Path = e.Path
	q := &Question{Pending: &data, Call: c}
	if c.Below() {
		c.Answer, q.Turn = r.Answers, r.ended
	}
	c.Waits, c.Asked, r.questions[data.Suspension.ID] = true, q, q
	r.asked = append(r.asked, q)
	return nil
}

func (r *Run) decisionRecorded(e wire.Event) error {
	var data wire.DecisionRecordedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if q := r.questions[data.Suspension]; q != nil {
		q.Recorded = true
	}
	return nil
}

func (r *Run) callResuming(e wire.Event) error {
	var data wire.CallResumingData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if c := r.Of(e, data.CallID); c != nil {
		c.Waits = false
	}
	return nil
}

func (r *Run) callEnded(e wire.Event) error {
	var data wire.CallEndedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if c := r.Of(e, data.CallID); c != nil {
		c.Waits, c.Ended = false, &data
	}
	return nil
}

// Ending says in a sentence how a run ended that didn't complete.
func Ending(reason, code, detail string) string {
	text := strings.Join(strings.Fields(strings.Join([]string{"The run ended:", reason, code}, " ")), " ") + "."
	if detail != "" {
		text += " " + detail
	}
	return text
}

// Live says whether the event is one of those that no journal holds.
func Live(e wire.Event) bool {
	switch core.EventType(e.Type) {
	case core.EventTextDelta, core.EventReasoningDelta, core.EventCallProgress:
		return true
	}
	return false
}
