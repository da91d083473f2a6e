package aisdk

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// below projects the events of runs below. Of these, what people are asked is a part of the message
// whose call they work for, with its answer; nothing else is.
func (s *Stream) below(out *chunks, e wire.Event, _ bool) error {
	switch core.EventType(e.Type) {
	case core.EventCallSuspended:
		var data wire.Pending
		if err := e.Decode(&data); err != nil {
			return err
		}
		if q := s.run.Question(data.Suspension.ID); q.Open() && q.Kind != core.KindChild.String() && q.Call.Answer == s.answer && !slices.Contains(s.view.Seen, q.Suspension.ID) {
			s.ask(out, q)
		}
	case core.EventDecisionRecorded:
		return s.decided(out, e)
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		return s.endedBelow(out, e)
	}
	return nil
}

// ask asks what a run below asks. A call that the client can answer is a part like one of the run
// itself, with the call's key for its id.
func (s *Stream) ask(out *chunks, q *project.Question) {
	call := inputBelow(q.Call, q.Arguments)
	switch {
	case !s.hasPart(q):
	case q.Call.Client && q.Kind != core.KindClient.String():
		out.add(held(call)...)
	default:
		out.add(call)
	}
	switch {
	case s.asksApproval(q.Pending):
		out.add(Chunk{Type: ApprovalRequest, ApprovalID: approvalID(q), ToolCallID: partID(q.Call), Reason: s.since7(q.Suspension.Message)})
	case q.Kind != core.KindClient.String():
		out.add(inputRequest(q.Pending, partID(q.Call), q.Call.Agent()))
	}
}

// partID is the id of the call in its message. One that moved to another message has another there:
// the clients answer the first part with an id, wherever it is.
func partID(c *project.Call) string { return c.Key() + moved(c) }

func approvalID(q *project.Question) string { return q.Suspension.ID + moved(q.Call) }

func moved(c *project.Call) string {
	if !c.Moved {
		return ""
	}
	return moveMark + strconv.Itoa(c.Answer)
}

const moveMark = "#"

// callOf is the call that a part is of.
func callOf(run *project.Run, id string) *project.Call {
	if c := run.Call(id); c != nil {
		return c
	}
	id, _, _ = strings.Cut(id, moveMark)
	return run.Call(id)
}

// hasPart says whether the question is asked by a part of its call, which the client can answer.
func (s *Stream) hasPart(q *project.Question) bool {
	return q.Tool != "" && (s.asksApproval(q.Pending) || q.Kind == core.KindClient.String() || q.Kind == core.KindInput.String())
}

// inputBelow names the agent beside the tool: the page knows only the tools of its own agent.
func inputBelow(c *project.Call, arguments json.RawMessage) Chunk {
	chunk := input(partID(c), c.Tool, arguments)
	chunk.Title = c.Tool + " (" + c.Agent() + ")"
	return chunk
}

// endedBelow shows how a call ended that was asked about.
func (s *Stream) endedBelow(out *chunks, e wire.Event) error {
	var data wire.CallEndedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	c := s.run.Of(e, data.CallID)
	if c == nil || c.Asked == nil || !s.hasPart(c.Asked) || !s.view.whole && c.Answer != s.answer {
		return nil
	}
	if !core.IsNull(data.RanWith) && !c.Client {
		// a person edited them: the part shows what ran
		out.add(inputBelow(c, data.RanWith))
	}
	out.add(s.output(e, data, partID(c)))
	return nil
}

// delegated says how the calls are that runs below work for, when the response ends. The helpers of
// the SDK send answers once every part of the last step has an output, not a preliminary one, or an
// answer. So a call has an output while an answer is waited for below it, and none otherwise.
func (s *Stream) delegated(out *chunks) {
	asks := map[*project.Call]bool{}
	for _, q := range s.run.Asked() {
		if top := q.Call.Top(); q.Call.Below() && s.isShown(top.ID) && top.Waits {
			asks[top] = asks[top] || q.Open() && s.hasPart(q)
		}
	}
	for _, q := range s.run.Asked() {
		open, is := asks[q.Call]
		switch {
		case q.Call.Below() || !is || q.Call.Asked != q:
		case open:
			out.add(Chunk{Type: OutputAvailable, ToolCallID: q.CallID, Output: core.Encode(map[string]string{"waits_for": q.Kind})})
		default:
			out.add(input(q.CallID, q.Call.Tool, q.Call.Arguments))
		}
	}
}
