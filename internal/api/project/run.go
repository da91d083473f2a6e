// Package project folds the events of a run into what a person sees who talks to its agent:
// messages, and for each of them one answer of several steps, whose calls may wait for people. What
// the protocols of stock clients show is a projection of this.
//
// It is pure. The same events give the same fold, and a fold may be fed in pieces: that of a whole
// journal equals that of its first part, continued with the rest.
package project

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Run is the fold over the events of one run, in their order. The zero value has seen none. Live
// events don't change it.
type Run struct {
	ID, Thread string
	Seq        int64 // of the last event

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

	calls     map[string]*Call
	questions map[string]*Question // by suspension
	asked     []*Question          // in the order in which they were asked
}

// Call is one tool call.
type Call struct {
	ID, Tool  string
	Arguments json.RawMessage
	Answer    int       // the one that it is part of
	Step      int       // that requested it
	Waits     bool      // it is suspended, on Asked
	Asked     *Question // the newest; nil if it was never suspended
	Ended     *wire.CallEndedData
}

// Question is one suspension of a call.
type Question struct {
	*wire.Pending
	Call *Call

	// Turn is the last that ended while the question was open; 0 if none has. What its answer
	// brings comes in later ones.
	Turn int

	// Recorded: a decision has reached the run, whether it had an effect or not.
	Recorded bool
}

// Open says whether the call still waits for an answer to this question.
func (q *Question) Open() bool { return q.Call.Waits && q.Call.Asked == q }

// AnswerID names an answer, counted as Answers does, the same way each time it is shown. 0 is that
// of a retried run, which begins without a message.
func (r *Run) AnswerID(answer int) string { return fmt.Sprintf("%s.%d", r.ID, answer) }

// Call is the call with this id; nil if the run hasn't requested it.
func (r *Run) Call(id string) *Call { return r.calls[id] }

// Question is the question of this suspension; nil if the run hasn't asked it.
func (r *Run) Question(suspension string) *Question { return r.questions[suspension] }

// Waiting are the questions that are open, in the order in which they were asked.
func (r *Run) Waiting() (open []*Question) {
	for _, q := range r.asked {
		if q.Open() {
			open = append(open, q)
		}
	}
	return open
}

// Push takes the next event. An event whose data doesn't fit its type is an error.
func (r *Run) Push(e wire.Event) error {
	if r.calls == nil {
		r.ID, r.Thread, r.calls, r.questions = e.RunID, e.ThreadID, map[string]*Call{}, map[string]*Question{}
	}
	r.Seq = e.Seq
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
	return nil
}

func (r *Run) turnEnded(e wire.Event) error {
	var data wire.TurnEndedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	r.InTurn, r.Ended = false, &data
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
	r.calls[data.CallID] = &Call{ID: data.CallID, Tool: data.ToolName, Arguments: data.Arguments, Answer: r.Answers, Step: e.Step}
	r.StepCalls++
	return nil
}

// callSuspended: a call that waits for the run itself was never ready.
func (r *Run) callSuspended(e wire.Event) error {
	var data wire.Pending
	if err := e.Decode(&data); err != nil {
		return err
	}
	c := r.calls[data.CallID]
	if c == nil {
		c = &Call{ID: data.CallID, Tool: data.ToolName, Arguments: data.Arguments, Answer: r.Answers, Step: e.Step}
		r.calls[c.ID] = c
	}
	q := &Question{Pending: &data, Call: c}
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
	if c := r.calls[data.CallID]; c != nil {
		c.Waits = false
	}
	return nil
}

func (r *Run) callEnded(e wire.Event) error {
	var data wire.CallEndedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if c := r.calls[data.CallID]; c != nil {
		c.Waits, c.Ended = false, &data
	}
	return nil
}

// Live says whether the event is one of those that no journal holds.
func Live(e wire.Event) bool {
	switch core.EventType(e.Type) {
	case core.EventTextDelta, core.EventReasoningDelta, core.EventCallProgress:
		return true
	}
	return false
}
