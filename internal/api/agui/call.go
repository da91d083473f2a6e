package agui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// call projects what happens to tool calls. That one is suspended is shown at the end of the
// response.
func (s *Stream) call(e wire.Event) error {
	if core.EventType(e.Type) == core.EventCallReady {
		s.openStep(e.Step)
	}
	for _, call := range s.said.released {
		s.add(Event{Type: CallStart, ToolCallID: call.ID, ToolCallName: call.Function.Name, ParentMessageID: call.message},
			Event{Type: CallArguments, ToolCallID: call.ID, Delta: call.Function.Arguments},
			Event{Type: CallEnd, ToolCallID: call.ID})
	}
	switch core.EventType(e.Type) {
	case core.EventCallProgress:
		return s.progress(e)
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		return s.ended(e)
	}
	return nil
}

func (s *Stream) progress(e wire.Event) error {
	var data wire.CallProgressData
	if err := e.Decode(&data); err != nil {
		return err
	}
	s.add(Event{Type: Custom, Name: ProgressName, Value: Progress{ToolCallID: data.CallID, Done: data.Done, Total: data.Total, Text: data.Text}})
	return nil
}

// ended shows a call's result. The run's own waits have none.
func (s *Stream) ended(e wire.Event) error {
	var data wire.CallEndedData
	if err := e.Decode(&data); err != nil || data.ToolName == "" || s.answered(data.CallID) {
		return err
	}
	m := s.said.result(data)
	s.add(Event{Type: CallResult, MessageID: m.ID, Role: m.Role, ToolCallID: m.ToolCallID, Content: m.Content, Metadata: m.Metadata})
	return nil
}

// answered says whether the client has sent the call's result itself, and so has the message. A
// snapshot takes it away.
func (s *Stream) answered(call string) bool {
	c := s.run.Call(call)
	return c != nil && c.Asked != nil && c.Asked.Kind == core.KindClient.String() && !s.whole && slices.Contains(s.view.Hold, c.Asked.Suspension.ID)
}

// suspend ends the response of a run that waits. Calls of tools that the client runs are no
// questions: their response is a success, and the client sends their results. Those of a run below
// are: the client hasn't seen the call.
func (s *Stream) suspend() {
	s.closeStep()
	last := Event{Type: RunFinished, ThreadID: s.view.Thread, RunID: s.view.Run, Usage: s.used(), Outcome: &Outcome{Type: OutcomeSuccess}}
	for _, q := range s.run.Waiting() {
		switch below := q.Call.Below(); {
		case q.Kind == core.KindClient.String() && !below:
			last.Outcome.PendingToolCalls = append(last.Outcome.PendingToolCalls, q.CallID)
		case q.Kind == core.KindChild.String():
			last.Metadata = &Metadata{Details{WaitsFor: q.Kind}}
		default:
			last.Outcome.Interrupts = append(last.Outcome.Interrupts, interrupt(q))
		}
	}
	if len(last.Outcome.Interrupts) > 0 {
		last.Outcome.Type = OutcomeInterrupt
	}
	if len(last.Outcome.Interrupts) > 0 || !s.view.Versioned {
		last.Outcome.PendingToolCalls = nil // clients find them among the calls
	}
	s.add(last)
	s.over = true
}

func interrupt(q *project.Question) Interrupt {
	i := Interrupt{ID: q.Suspension.ID, Reason: "dormouse:" + q.Kind, Message: cmp.Or(q.Suspension.Message, q.Suspension.Action), ResponseSchema: object(q.Suspension.ResponseSchema)}
	seen := q.Tool != "" && !q.Call.Below() && !q.Call.Client // the client has the call
	if seen {
		i.ToolCallID = q.CallID
	}
	if q.Deadline != nil {
		i.ExpiresAt = q.Deadline.UTC().Format(wire.TimeFormat)
	}
	d := Details{Kind: q.Kind, ToolName: q.Tool, Agent: q.Call.Agent()}
	if !core.IsNull(q.Arguments) {
		d.Arguments = q.Arguments
	}
	if q.Preview != nil {
		d.Preview = q.Preview.Text
	}
	if q.Tool != "" && !seen {
		// a client that shows the message alone shows what is asked for
		i.Message = strings.TrimPrefix(fmt.Sprintf("%s: %s %s. %s", d.Agent, q.Tool, argumentsText(q.Arguments), i.Message), ": ")
	}
	i.Metadata = &Metadata{d}
	switch approval := q.Kind == core.KindApproval.String(); {
	case approval && q.Tool == "": // the run asks whether it may go on
		i.Reason, i.ResponseSchema = "confirmation", confirmationSchema
	case approval:
		i.Reason = "tool_call"
		if q.ResumeMode != core.UseDecisionAsToolResult.String() {
			i.ResponseSchema = approvalSchema
		}
	case q.Kind == core.KindInput.String():
		i.Reason = "input_required"
	}
	return i
}

// What an approval is answered with. editedArgs replaces the arguments.
var (
	approvalSchema     = json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"},"editedArgs":{"type":"object"}},"required":["approved"]}`)
	confirmationSchema = json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"}},"required":["approved"]}`)
)

// object is a schema, if it is an object: the protocol knows no other.
func object(schema json.RawMessage) json.RawMessage {
	if bytes.HasPrefix(bytes.TrimSpace(schema), []byte("{")) {
		return schema
	}
	return nil
}
