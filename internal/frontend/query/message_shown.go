package query

import (
	"encoding/base64"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// weighMessage is about how many bytes the message has in a page.
func weighMessage(m wire.Message) int {
	weight := len(m.Text) + len(m.Value) + len(m.RanWith)
	for _, p := range m.Parts {
		weight += len(p.Text) + len(p.Name) + base64.StdEncoding.EncodedLen(len(p.Data))
	}
	for _, call := range m.ToolCalls {
		weight += len(call.Arguments)
	}
	return weight
}

func messagesOf(thread string, s core.Segment, data bool) []wire.Message {
	shown := make([]wire.Message, 0, len(s.Messages))
	for i, m := range s.Messages {
		if m.Role == core.RoleSystem {
			continue
		}
		e := toldBy(s, i+1)
		one := messageOf(m, data)
		one.ID, one.Seq, one.Step = m.MessageID(thread, s.Seq, i+1), e.Seq, e.Step
		shown = append(shown, one)
	}
	return shown
}

// toldBy is the event that tells of the n-th message of a segment, or the last one before which it
// is known.
func toldBy(s core.Segment, n int) (found core.Event) {
	m := s.Messages[n-1]
	for _, e := range s.Events {
		var call struct {
			CallID string `json:"call_id"`
		}
		switch {
		case e.Message == n:
			return e
		case m.Pending && e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil && call.CallID == m.CallID:
			return e
		}
		found = e
	}
	return found
}

func messageOf(m core.Message, data bool) wire.Message {
	shown := wire.Message{RunID: m.RunID, Role: string(m.Role), Text: m.Text(), Parts: partsOf(m, data), CallID: m.CallID, Tool: m.Tool,
		Error: m.Error, Outcome: string(m.CallOutcome()), Value: shownValue(m.ResultValue()), RanWith: m.RanWith, Added: m.Added, Pending: m.Pending, Cut: m.Cut,
		By: m.By, Via: m.Via, Answers: m.Answers, At: wire.Millis(m.At)}
	for _, call := range m.Calls {
		shown.ToolCalls = append(shown.ToolCalls, wire.ToolCall{ID: call.ID, Name: call.Name, Arguments: runview.ShownJSON(call.Arguments)})
	}
	return shown
}

// shownValue is a value as callers get it; nil stays nil.
func shownValue(v json.RawMessage) json.RawMessage {
	if v == nil {
		return nil
	}
	return runview.ShownJSON(v)
}

// partsOf are the parts of a message in their order, if it has more than text. Data that a provider
// sealed for itself is left out; of sealed reasoning, the caller sees only that it exists.
func partsOf(m core.Message, data bool) (shown []wire.Part) {
	more := false
	for _, p := range m.Parts {
		if p.Type == core.PartCall {
			continue
		}
		more = more || p.Type != core.PartText
		shown = append(shown, partOf(p, data))
	}
	if !more {
		return nil
	}
	return shown
}

func partOf(p core.Part, data bool) wire.Part {
	part := wire.Part{Type: p.Type, Text: p.Text, MediaType: p.Media, Name: p.Name, Bytes: len(p.Data)}
	if data {
		part.Data = p.Data
	}
	return part
}
