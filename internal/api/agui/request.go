package agui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/answer"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// Input is what a client posts. Its messages are the client's account: of all of them, only the
// user's messages at the end are read, and of the others only what answers a question that the run
// has asked. RunID names the response, and nothing else.
type Input struct {
	ThreadID        string         `json:"threadId"`
	RunID           string         `json:"runId"`
	ProtocolVersion string         `json:"protocolVersion"`
	Messages        []InputMessage `json:"messages"`
	Resume          []Resume       `json:"resume"`
	Supply
}

// InputMessage is a message of a client.
type InputMessage struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // text, or parts
	ToolCallID string          `json:"toolCallId"`
	Error      string          `json:"error"`
}

// Resume is the answer to an interrupt.
type Resume struct {
	InterruptID string
	Status      string // "resolved" or "cancelled"
	Payload     json.RawMessage
}

// UnmarshalJSON takes members by their exact names. See [strictjson.Exactly].
func (e *Resume) UnmarshalJSON(raw []byte) error {
	return strictjson.Exactly(raw, map[string]any{"interruptId": &e.InterruptID, "status": &e.Status, "payload": &e.Payload})
}

const (
	statusResolved  = "resolved"
	statusCancelled = "cancelled"
)

// Clear says whether the protocol says what the answer means. A word for no that isn't the
// protocol's must not count as a yes.
func (e Resume) Clear() bool { return e.Status == statusResolved || e.Status == statusCancelled }

// Versioned says whether the client knows version 1.0 of the protocol: it says so, or names a later
// one.
func (in Input) Versioned() bool {
	major, _, ok := strings.Cut(in.ProtocolVersion, ".")
	return ok && major != "" && strings.Trim(major, "0123456789") == "" && strings.Trim(major, "0") != ""
}

// User is the user's message that the request sends, if it sends one.
func (in Input) User() (m InputMessage, ok bool) {
	if len(in.Messages) == 0 {
		return m, false
	}
	m = in.Messages[len(in.Messages)-1]
	return m, m.Role == roleUser
}

// Earlier are the user's messages right before that one, which the client may have been unable to
// send so far.
func (in Input) Earlier() []InputMessage {
	_, ok := in.User()
	if !ok {
		return nil
	}
	return in.Messages[in.beginOfUser() : len(in.Messages)-1]
}

// beginOfUser is the place of the first of the user's messages at the end.
func (in Input) beginOfUser() int {
	at := len(in.Messages)
	for at > 0 && in.Messages[at-1].Role == roleUser {
		at--
	}
	return at
}

// Answers says whether the request may answer questions.
func (in Input) Answers() bool { return len(in.Resume) > 0 || len(in.results()) > 0 }

// results are the messages with results of tools that the request sends: those at the end, before
// its user's messages.
func (in Input) results() []InputMessage {
	end := in.beginOfUser()
	begin := end
	for begin > 0 && in.Messages[begin-1].Role == roleTool {
		begin--
	}
	return in.Messages[begin:end]
}

// Reply is what a request says about the questions of a run.
type Reply struct {
	Decisions []wire.Decision // on questions that are open
	Hold      []string        // the suspensions of these

	// Known: something that is answered is a question of the run. Restate: the client's
	// messages aren't what the run's are, so that it must be shown all of them: its answer came
	// too late, or it has taken an approval for a result.
	Known, Restate bool
}

// ReadReply finds the answers in a request. What isn't an answer to a question that the run has
// asked is left out: an unknown id, and a result of a tool that the client doesn't run.
func ReadReply(in Input, run *project.Run) Reply {
	var r Reply
	for _, entry := range in.Resume {
		q := run.Question(entry.InterruptID)
		if q == nil || q.Kind == core.KindClient.String() && !q.Call.Below() || q.Kind == core.KindChild.String() {
			continue
		}
		r.take(q, entry.decision(q))
	}
	for _, m := range in.results() {
		c := run.Call(m.ToolCallID)
		switch {
		case c == nil || c.Asked == nil || c.Asked.Kind != core.KindClient.String() && len(in.Resume) == 0:
		case c.Asked.Kind == core.KindClient.String():
			r.take(c.Asked, m.decision(c.Asked))
		default:
			r.Restate = true // CopilotKit makes a message of what it has answered
		}
	}
	return r
}

func (r *Reply) take(q *project.Question, d wire.Decision) {
	r.Known = true
	switch {
	case slices.Contains(r.Hold, q.Suspension.ID):
	case !q.Open():
		r.Restate = true
	default:
		d.Target = q.Suspension.ID
		r.Decisions, r.Hold = append(r.Decisions, d), append(r.Hold, d.Target)
	}
}

// decision is the answer to a question of a person. What a payload says about an approval, package
// answer reads: only a clear yes lets a call run.
func (e Resume) decision(q *project.Question) wire.Decision {
	if e.Status == statusCancelled {
		return wire.Decision{Action: core.ActionCancel.String()}
	}
	payload := e.Payload
	if core.IsNull(payload) {
		payload = nil
	}
	switch {
	case q.Kind == core.KindInterrupt.String() && answer.Allows(payload): // others are refused
		return wire.Decision{Action: core.ActionResume.String()}
	case q.Kind == core.KindApproval.String() && q.ResumeMode != core.UseDecisionAsToolResult.String():
		return approval(payload)
	}
	return wire.Decision{Result: payload}
}

// editedMember is the member of an approval with arguments that replace the model's.
const editedMember = "editedArgs"

// approval takes the arguments out of a payload. One that is ambiguous stays whole, and is refused.
func approval(payload json.RawMessage) wire.Decision {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil || members == nil || strict.Check(payload) != nil {
		return wire.Decision{Result: payload}
	}
	var d wire.Decision
	if edited := members[editedMember]; !core.IsNull(edited) && string(members["approved"]) != "false" {
		d.Arguments = edited
	}
	_ = json.Unmarshal(members["reason"], &d.Reason) // any other value stays in the result
	delete(members, editedMember)
	d.Result = core.Encode(members)
	return d
}

// resultKey begins the id of a decision that a client's message makes.
const resultKey = "ag-ui:"

// decision is the result of a call that the client runs.
func (m InputMessage) decision(q *project.Question) wire.Decision {
	var d wire.Decision
	if id := resultKey + m.ID; m.ID != "" && len(id) <= 255 {
		d.DecisionID = id
	}
	if m.Error != "" {
		d.Error = m.Error
		return d
	}
	d.Result = m.result(q.Suspension.ResponseSchema)
	d.Action = core.ActionResume.String()
	return d
}

// result is what the message says, as JSON. Clients send values as text: a text that is JSON is
// that value, unless the tool returns text.
func (m InputMessage) result(schema json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(m.Content, &text) != nil {
		return json.RawMessage(cmp.Or(string(m.Content), "null"))
	}
	var shape struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &shape) == nil && shape.Type == "string" || !json.Valid([]byte(text)) {
		return core.Encode(text)
	}
	return json.RawMessage(text)
}
