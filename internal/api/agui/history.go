package agui

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// history folds events of a conversation into the messages and the state that a client has after it
// was shown all of them. The zero value has seen none. Live events don't change it.
type history struct {
	messages []*Message
	state    json.RawMessage

	// results are ids of the clients' messages with the result of a call, by call: a client
	// finds its own message again.
	results map[string]string

	stored map[string]bool // keys that the run under way has, or had

	// held are the calls of tools that the client runs, until they wait for it: a client runs
	// what it sees, and a person may have to approve it first. Released are those that the last
	// event let go.
	held     map[string]*heldCall
	released []*heldCall
}

// heldCall is a call, and the message that requested it.
type heldCall struct {
	ToolCall
	message string
}

func (h *history) push(e wire.Event) error {
	h.released = nil
	switch core.EventType(e.Type) {
	case core.EventRunStarted:
		h.stored = nil
	case core.EventMessageReceived:
		return h.received(e)
	case core.EventTextEnded, core.EventReasoningEnded:
		return h.said(e)
	case core.EventCallReady:
		return h.ready(e)
	case core.EventCallSuspended:
		return h.suspended(e)
	case core.EventDecisionRecorded:
		return h.decided(e)
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		return h.ended(e)
	case core.EventStateSnapshot:
		return h.snapshot(e)
	case core.EventTurnEnded:
		return h.turnEnded(e)
	}
	return nil
}

func (h *history) received(e wire.Event) error {
	var data wire.MessageReceivedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	h.messages = append(h.messages, &Message{ID: data.MessageID, Role: roleUser, Content: &data.Text, sent: data.Parts})
	return nil
}

func (h *history) said(e wire.Event) error {
	var data wire.SaidData
	if err := e.Decode(&data); err != nil {
		return err
	}
	role := roleAssistant
	if core.EventType(e.Type) == core.EventReasoningEnded {
		role = roleReasoning
	}
	if data.Text != "" {
		h.message(data.PartID, role).Content = &data.Text
	}
	return nil
}

func (h *history) ready(e wire.Event) error {
	var data wire.CallReadyData
	if err := e.Decode(&data); err != nil {
		return err
	}
	call := &heldCall{ToolCall{data.CallID, "function", Function{data.ToolName, argumentsText(data.Arguments)}}, answerID(e)}
	if h.held == nil {
		h.held = map[string]*heldCall{}
	}
	h.held[data.CallID] = call
	if !data.Client {
		h.release(data.CallID)
	}
	return nil
}

// suspended lets a call go that the client runs now, with the arguments that it runs with.
func (h *history) suspended(e wire.Event) error {
	var data wire.Pending
	if err := e.Decode(&data); err != nil {
		return err
	}
	switch call := h.held[data.CallID]; {
	case call == nil:
	case data.Kind == core.KindClient.String():
		call.Function.Arguments = argumentsText(data.Arguments)
		h.release(data.CallID)
	default:
		// CopilotKit runs the calls of new messages alone
		call.message = "call-" + data.CallID
	}
	return nil
}

// release shows a call that was held.
func (h *history) release(id string) {
	call := h.held[id]
	if call == nil {
		return
	}
	delete(h.held, id)
	m := h.message(call.message, roleAssistant)
	m.ToolCalls = append(m.ToolCalls, call.ToolCall)
	h.released = append(h.released, call)
}

// answerID is the id of the message with what the model answers in the step of an event. Live text
// has it before anything else is known.
func answerID(e wire.Event) string { return core.PartID(e.RunID, core.TextPart, e.Step) }

// message is the one with this id; a new one, at the end, if there is none.
func (h *history) message(id, role string) *Message {
	for _, m := range slices.Backward(h.messages) {
		if m.ID == id && m.Role == role {
			return m
		}
	}
	m := &Message{ID: id, Role: role}
	h.messages = append(h.messages, m)
	return m
}

func (h *history) decided(e wire.Event) error {
	var data wire.DecisionRecordedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if id, ok := strings.CutPrefix(data.DecisionID, resultKey); ok && data.Applied && !h.has(id) {
		if h.results == nil {
			h.results = map[string]string{}
		}
		h.results[data.CallID] = id
	}
	return nil
}

func (h *history) has(id string) bool {
	return slices.ContainsFunc(h.messages, func(m *Message) bool { return m.ID == id })
}

// ended puts the result where a client does: behind the message that requested the call, and behind
// the results that are there.
func (h *history) ended(e wire.Event) error {
	var data wire.CallEndedData
	if err := e.Decode(&data); err != nil || data.ToolName == "" {
		return err
	}
	h.release(data.CallID) // with its result, it isn't run
	result := h.result(data)
	at := slices.IndexFunc(h.messages, func(m *Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(c ToolCall) bool { return c.ID == data.CallID })
	}) + 1
	if at == 0 {
		at = len(h.messages)
	}
	for at < len(h.messages) && h.messages[at].Role == roleTool {
		at++
	}
	h.messages = slices.Insert(h.messages, at, result)
	return nil
}

// result is the message with a call's result. If a client has sent that, it is the client's.
func (h *history) result(data wire.CallEndedData) *Message {
	m := &Message{ID: h.results[data.CallID], Role: roleTool, Content: resultText(data), ToolCallID: data.CallID}
	if m.ID == "" {
		m.ID, m.Metadata = cmp.Or(data.MessageID, "result-"+data.CallID), resultDetails(data)
	}
	return m
}

// resultText is a call's result as text: JSON, if it is that.
func resultText(data wire.CallEndedData) *string {
	text := data.Outcome
	switch {
	case !core.IsNull(data.Value):
		text = string(data.Value)
	case data.Result != nil:
		text = *data.Result
	}
	return &text
}

// resultDetails says what a client can't see from the text of a result: that the call failed, and
// that a person changed what it ran with.
func resultDetails(data wire.CallEndedData) *Metadata {
	if data.Outcome == string(core.CallOutcomeSucceeded) && core.IsNull(data.RanWith) {
		return nil
	}
	d := Details{Outcome: data.Outcome}
	if !core.IsNull(data.RanWith) {
		d.RanWith = data.RanWith
	}
	return &Metadata{d}
}

func (h *history) snapshot(e wire.Event) error {
	var data wire.StateSnapshotData
	if err := e.Decode(&data); err != nil {
		return err
	}
	sent := data.Run[supplied.StateKey]
	own := map[string]json.RawMessage{}
	maps.Copy(own, data.Thread)
	maps.Copy(own, data.Run)
	delete(own, supplied.StateKey)
	h.state = h.shared(sent, own)
	return nil
}

// shared is the state as a client and its agent share it: what the client supplied, and over that
// what the agent has stored. What the agent has removed doesn't come back from the client's account
// of it. A client's state that is no object has no room for the agent's, and is shown alone, if the
// agent has none.
func (h *history) shared(sent json.RawMessage, own map[string]json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(sent, &all); len(sent) > 0 && len(own) == 0 && (err != nil || all == nil) {
		return sent
	}
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool { return h.stored[key] })
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if h.stored == nil {
		h.stored = map[string]bool{}
	}
	for key, value := range own {
		all[key], h.stored[key] = value, true
	}
	return core.Encode(all)
}

// restate sends all messages of the conversation as they are now, and returns the state.
func (s *Stream) restate() (state json.RawMessage, err error) {
	past, files, err := s.past()
	if err != nil {
		return nil, err
	}
	all := []Message{} // no null if there are none
	for _, m := range slices.Concat(past.messages, s.said.messages) {
		shown := *m
		shown.sent = files.Of(m.ID, m.sent)
		all = append(all, shown)
	}
	for _, p := range s.parts {
		// Clients keep reasoning that a snapshot leaves out, unless it has other reasoning.
		// What counts no more is emptied.
		if p.kind == core.ReasoningPart && !p.ended && p.sent != "" {
			nothing := ""
			all = append(all, Message{ID: p.id, Role: roleReasoning, Content: &nothing})
		}
	}
	s.add(Event{Type: MessagesSnapshot, Messages: &all})
	s.whole = true
	if s.said.state != nil {
		return s.said.state, nil
	}
	return past.state, nil
}

// past is the conversation before the run, and the files of all of it.
func (s *Stream) past() (past history, files project.Files, err error) {
	own := slices.ContainsFunc(s.said.messages, hasFiles)
	if s.view.Recall == nil || s.first == 1 && !own {
		return past, files, nil
	}
	err = s.view.Recall(func(e wire.Event) (more bool, err error) {
		if e.RunID == s.id && !own {
			return false, nil
		}
		if e, err = files.Take(e); err == nil && e.RunID != s.id {
			err = past.push(e)
		}
		return e.RunID != s.id || e.Seq < s.run.Seq, err
	})
	return past, files, err
}
