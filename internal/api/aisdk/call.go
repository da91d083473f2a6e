package aisdk

import (
	"cmp"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// call projects what happens to tool calls. A call of an earlier answer, which the message that
// began this one has settled, is no part of the message that is shown: the client would fail.
func (s *Stream) call(out *chunks, e wire.Event, asked bool) error {
	switch core.EventType(e.Type) {
	case core.EventCallReady:
		return s.ready(out, e)
	case core.EventCallProgress:
		return s.progress(out, e)
	case core.EventCallSuspended:
		return s.suspended(out, e, asked)
	case core.EventDecisionRecorded:
		return s.decided(out, e)
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		return s.ended(out, e)
	}
	return nil
}

func (s *Stream) ready(out *chunks, e wire.Event) error {
	var data wire.CallReadyData
	if err := e.Decode(&data); err != nil {
		return err
	}
	s.openStep(out)
	call := input(data.CallID, data.ToolName, data.Arguments)
	if data.Client {
		out.add(held(call)...)
		return nil
	}
	out.add(call)
	return nil
}

// held shows a call that the client is to run later, if at all: a person may have to approve it.
// The client runs a tool when its input is said to be available.
func held(call Chunk) []Chunk {
	return []Chunk{{Type: InputStart, ToolCallID: call.ToolCallID, ToolName: call.ToolName, Title: call.Title},
		{Type: InputDelta, ToolCallID: call.ToolCallID, InputDelta: string(call.Input)}}
}

func input(call, tool string, arguments json.RawMessage) Chunk {
	if core.IsNull(arguments) {
		arguments = json.RawMessage("{}")
	}
	return Chunk{Type: InputAvailable, ToolCallID: call, ToolName: tool, Input: arguments}
}

func (s *Stream) progress(out *chunks, e wire.Event) error {
	var data wire.CallProgressData
	if err := e.Decode(&data); err != nil {
		return err
	}
	p := Progress{ToolCallID: data.CallID, Done: data.Done, Text: data.Text}
	if data.Total != nil {
		p.Total = *data.Total
	}
	out.add(Chunk{Type: DataProgress, Data: p, Transient: true})
	return nil
}

// suspended asks. If the client has answered an earlier question about the call, its part counts as
// answered there, and must change so that the client doesn't take the stream's end for a reason to
// ask again.
func (s *Stream) suspended(out *chunks, e wire.Event, asked bool) error {
	var data wire.Pending
	if err := e.Decode(&data); err != nil {
		return err
	}
	shown := s.isShown(data.CallID)
	switch {
	case data.Kind == core.KindChild.String():
	case s.asksApproval(&data) && shown:
		out.add(Chunk{Type: ApprovalRequest, ApprovalID: data.Suspension.ID, ToolCallID: data.CallID, Reason: s.since7(data.Suspension.Message)})
		return nil
	case data.Kind == core.KindClient.String() && shown:
		if asked || s.run.Call(data.CallID).Client {
			out.add(input(data.CallID, data.ToolName, data.Arguments))
		}
		return nil
	default:
		out.add(inputRequest(&data, data.CallID, ""))
	}
	if asked && shown {
		out.add(s.asksAgain(&data))
	}
	return nil
}

// asksAgain changes the part of an answered call that waits again. Version 5 takes a preliminary
// output for the last, and would send it as an answer.
func (s *Stream) asksAgain(p *wire.Pending) Chunk {
	if s.view.SDK < 6 {
		return input(p.CallID, p.ToolName, p.Arguments)
	}
	return Chunk{Type: OutputAvailable, ToolCallID: p.CallID, Output: core.Encode(map[string]string{"waits_for": p.Kind}), Preliminary: true}
}

// inputRequest is a question that the protocol has no part for.
func inputRequest(p *wire.Pending, call, agent string) Chunk {
	return Chunk{Type: DataInputRequest, ID: p.Suspension.ID, Data: InputRequest{Suspension: p.Suspension.ID, Kind: p.Kind,
		ToolCallID: call, ToolName: p.ToolName, Agent: agent, Message: p.Suspension.Message, ResponseSchema: p.Suspension.ResponseSchema}}
}

// asksApproval: version 5 has no approvals.
func (s *Stream) asksApproval(p *wire.Pending) bool {
	return p.Kind == core.KindApproval.String() && s.view.SDK >= 6
}

// isShown says whether the call is a part of the message. The run's own waits are in none.
func (s *Stream) isShown(id string) bool {
	c := s.run.Call(id)
	return c != nil && c.Tool != "" && (s.view.whole || c.Answer == s.answer)
}

func (s *Stream) since7(text string) string {
	if s.view.SDK < 7 {
		return ""
	}
	return text
}

// decided is shown to clients that have a part for it.
func (s *Stream) decided(out *chunks, e wire.Event) error {
	var data wire.DecisionRecordedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	q := s.run.Question(data.Suspension)
	if s.view.SDK < 7 || !data.Applied || q == nil || !s.isShown(q.Call.Key()) || !s.asksApproval(q.Pending) {
		return nil
	}
	yes := data.Action == core.ActionResume.String()
	out.add(Chunk{Type: ApprovalResponded, ApprovalID: approvalID(q), Approved: &yes, Reason: data.Reason})
	return nil
}

func (s *Stream) ended(out *chunks, e wire.Event) error {
	var data wire.CallEndedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if !s.isShown(data.CallID) {
		return nil
	}
	if core.EventType(e.Type) == core.EventCallSucceeded && !core.IsNull(data.RanWith) && !s.run.Call(data.CallID).Client {
		// a person edited them: the part shows what ran
		out.add(input(data.CallID, data.ToolName, data.RanWith))
	}
	out.add(s.output(e, data, data.CallID))
	return nil
}

// output is how a call ended.
func (s *Stream) output(e wire.Event, data wire.CallEndedData, id string) Chunk {
	switch {
	case core.EventType(e.Type) == core.EventCallSucceeded:
		return Chunk{Type: OutputAvailable, ToolCallID: id, Output: outcome(data)}
	case data.Outcome == string(core.CallOutcomeDeniedByPerson) && s.view.SDK >= 6:
		return Chunk{Type: OutputDenied, ToolCallID: id}
	}
	text := ""
	if data.Result != nil {
		text = *data.Result
	}
	return Chunk{Type: OutputError, ToolCallID: id, ErrorText: cmp.Or(text, data.Outcome)}
}
