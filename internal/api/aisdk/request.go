package aisdk

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// Request is what a chat posts. Its history is the client's account: of all messages only the
// last is read, and the user's right before it. Of an assistant's, only what answers a question the
// run has asked.
type Request struct {
	ID       string          `json:"id"` // of the chat
	Messages []Message       `json:"messages"`
	Message  *Message        `json:"message"` // in place of Messages: the last alone
	Trigger  string          `json:"trigger"`
	Metadata json.RawMessage `json:"metadata"`
	Supply
}

// Message is a UI message.
type Message struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is a part of a UI message, with the members that are read.
type Part struct {
	Type       string
	Text       string
	MediaType  string
	Filename   string
	URL        string
	ToolCallID string
	State      string

	// Preliminary: Output is what the server said meanwhile, and answers nothing.
	Preliminary bool

	Output    json.RawMessage
	ErrorText string
	Approval  *Approval
}

// Approval is the answer in a part.
type Approval struct {
	ID       string
	Approved *bool
	Reason   string
}

// UnmarshalJSON takes members by their exact names. See [strictjson.Exactly].
func (a *Approval) UnmarshalJSON(raw []byte) error {
	return strictjson.Exactly(raw, map[string]any{"id": &a.ID, "approved": &a.Approved, "reason": &a.Reason})
}

// UnmarshalJSON takes members by their exact names. See [strictjson.Exactly].
func (p *Part) UnmarshalJSON(raw []byte) error {
	return strictjson.Exactly(raw, map[string]any{"type": &p.Type, "text": &p.Text, "mediaType": &p.MediaType, "filename": &p.Filename, "url": &p.URL,
		"toolCallId": &p.ToolCallID, "state": &p.State, "preliminary": &p.Preliminary, "output": &p.Output, "errorText": &p.ErrorText, "approval": &p.Approval})
}

// The triggers of requests.
const (
	TriggerSubmit     = "submit-message"
	TriggerRegenerate = "regenerate-message"
)

// Last is the message that the request is about; ok is false if it has none.
func (r Request) Last() (m Message, ok bool) {
	switch {
	case r.Message != nil:
		return *r.Message, true
	case len(r.Messages) > 0:
		return r.Messages[len(r.Messages)-1], true
	}
	return Message{}, false
}

// Earlier are the user's messages right before the last, which the client may have been unable to
// send so far.
func (r Request) Earlier() (all []Message) {
	if r.Message != nil || len(r.Messages) == 0 {
		return nil
	}
	for _, m := range slices.Backward(r.Messages[:len(r.Messages)-1]) {
		if m.Role != "user" {
			break
		}
		all = append(all, m)
	}
	slices.Reverse(all)
	return all
}

// Input is a user's message as the input of a run: its texts, images and documents. A file that
// isn't in the message itself is left out, because the server opens no addresses for a client. nil
// if nothing is left.
func (m Message) Input() json.RawMessage {
	var parts []wire.Part
	for _, p := range m.Parts {
		switch {
		case p.Type == "text" && p.Text != "":
			parts = append(parts, wire.Part{Type: core.PartText, Text: p.Text})
		case p.Type == "file":
			if data, ok := inline(p.URL); ok {
				parts = append(parts, file(p, data))
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return core.Encode(parts)
}

func file(p Part, data []byte) wire.Part {
	if strings.HasPrefix(p.MediaType, "image/") {
		return wire.Part{Type: core.PartImage, MediaType: p.MediaType, Data: data}
	}
	return wire.Part{Type: core.PartDocument, MediaType: p.MediaType, Name: p.Filename, Data: data}
}

// inline is the content of a data URL.
func inline(url string) ([]byte, bool) {
	_, text, ok := strings.Cut(url, ";base64,")
	if !ok || !strings.HasPrefix(url, "data:") {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	return data, err == nil
}

// Reply is what an assistant's message, sent back, says about the questions of a run.
type Reply struct {
	Decisions []wire.Decision // on questions that are open
	Hold      []string        // the suspensions of these, and of answered ones
	Seen      []string        // the suspensions of runs below that the message shows unanswered
	Turn      int             // the first that shows what the answers brought
}

// ReadReply finds the answers in a message that the client sends back. What isn't an answer to a
// question that the run has asked is left out: an approval of an unknown id,
// arguments, results of tools that the client doesn't run.
func ReadReply(m Message, run *project.Run) Reply {
	var reply Reply
	for _, p := range m.Parts {
		q, d := p.answer(run)
		if c := callOf(run, p.ToolCallID); q == nil && c != nil && c.Below() && c.Asked != nil {
			reply.Seen = append(reply.Seen, c.Asked.Suspension.ID)
		}
		if q == nil || slices.Contains(reply.Hold, q.Suspension.ID) {
			continue
		}
		reply.Hold = append(reply.Hold, q.Suspension.ID)
		reply.Turn = max(reply.Turn, q.Turn+1)
		if q.Open() {
			d.Target = q.Suspension.ID
			reply.Decisions = append(reply.Decisions, d)
		}
	}
	return reply
}

// answer is the question that the part answers, and the decision on it.
func (p Part) answer(run *project.Run) (*project.Question, wire.Decision) {
	if !strings.HasPrefix(p.Type, "tool-") && p.Type != "dynamic-tool" {
		return nil, wire.Decision{}
	}
	switch p.State {
	case "approval-responded":
		return p.approval(run)
	case "output-available", "output-error":
		if !p.Preliminary {
			return p.output(run)
		}
	}
	return nil, wire.Decision{}
}

func (p Part) approval(run *project.Run) (*project.Question, wire.Decision) {
	if p.Approval == nil || p.Approval.Approved == nil {
		return nil, wire.Decision{}
	}
	id, _, _ := strings.Cut(p.Approval.ID, moveMark)
	q := run.Question(id)
	if q == nil || q.Kind != core.KindApproval.String() || q.Call != callOf(run, p.ToolCallID) {
		return nil, wire.Decision{}
	}
	action := core.ActionCancel
	if *p.Approval.Approved {
		action = core.ActionResume
	}
	return q, wire.Decision{Action: action.String(), Reason: p.Approval.Reason}
}

// output is the result of a call that the client runs, or the answer to a question that a tool
// asks. In the history, the results of all other calls look the same.
func (p Part) output(run *project.Run) (*project.Question, wire.Decision) {
	c := callOf(run, p.ToolCallID)
	if c == nil || c.Asked == nil || c.Asked.Kind != core.KindClient.String() && c.Asked.Kind != core.KindInput.String() {
		return nil, wire.Decision{}
	}
	d := wire.Decision{Error: cmp.Or(p.ErrorText, "the client gave no reason")}
	if p.State == "output-available" {
		// the part says that it is a result, also if that looks like an approval
		d = wire.Decision{Action: core.ActionResume.String(), Result: p.Output}
		if len(d.Result) == 0 {
			d.Result = json.RawMessage("null")
		}
	}
	return c.Asked, d
}
