package frontend

import (
	"encoding/base64"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// weighMessage is about how many bytes the message has in a page.
func weighMessage(m wire.Message) int {
	weight := len(m.Text)
	for _, p := range m.Parts {
		weight += len(p.Text) + len(p.Name) + base64.StdEncoding.EncodedLen(len(p.Data))
	}
	for _, call := range m.ToolCalls {
		weight += len(call.Arguments)
	}
	return weight
}

func messagesOf(s core.Segment, data bool) []wire.Message {
	shown := make([]wire.Message, 0, len(s.Messages))
	for _, m := range s.Messages {
		if m.Role != core.RoleSystem {
			shown = append(shown, messageOf(m, data))
		}
	}
	return shown
}

func messageOf(m core.Message, data bool) wire.Message {
	shown := wire.Message{RunID: m.RunID, Role: string(m.Role), Text: m.Text(), Parts: partsOf(m, data), CallID: m.CallID, Tool: m.Tool,
		Error: m.Error, Pending: m.Pending, By: m.By, Via: m.Via, Answers: m.Answers, At: wire.Millis(m.At)}
	for _, call := range m.Calls {
		shown.ToolCalls = append(shown.ToolCalls, wire.ToolCall{ID: call.ID, Name: call.Name, Arguments: shownJSON(call.Arguments)})
	}
	return shown
}

// partsOf are the parts of a message in their order, if it has more than text. What a provider sealed is for that provider alone; of
// reasoning that nobody else can read, only that it is there is shown.
func partsOf(m core.Message, data bool) (shown []wire.Part) {
	more := false
	for _, p := range m.Parts {
		if p.Type == core.PartCall {
			continue
		}
		more = more || p.Type != core.PartText
		part := wire.Part{Type: p.Type, Text: p.Text, MediaType: p.Media, Name: p.Name, Bytes: len(p.Data)}
		if data {
			part.Data = p.Data
		}
		shown = append(shown, part)
	}
	if !more {
		return nil
	}
	return shown
}
