package a2a

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// Sent is a message as its client sent it. The SDK reads numbers as floats, so that an amount or a
// result could change; here they stay as they were written.
type Sent struct {
	ID        string     `json:"messageId"`
	ContextID string     `json:"contextId"`
	TaskID    string     `json:"taskId"`
	Role      string     `json:"role"`
	Parts     []SentPart `json:"parts"`

	Config struct {
		Immediately bool            `json:"returnImmediately"`
		History     *int            `json:"historyLength"`
		Push        json.RawMessage `json:"taskPushNotificationConfig"`
	} `json:"-"`
	Metadata json.RawMessage `json:"-"` // of the request
}

// SentPart is a part of a [Sent].
type SentPart struct {
	Text      *string         `json:"text"`
	Raw       []byte          `json:"raw"`
	Data      json.RawMessage `json:"data"`
	URL       *string         `json:"url"`
	Filename  string          `json:"filename"`
	MediaType string          `json:"mediaType"`
}

func invalid(format string, args ...any) error {
	return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// ReadMessage reads the parameters of a request that sends a message.
func ReadMessage(params json.RawMessage) (Sent, error) {
	if err := json.Unmarshal(params, new(sdk.SendMessageRequest)); err != nil {
		return Sent{}, invalid("the request can't be read: %v", err)
	}
	var req struct {
		Message  *Sent           `json:"message"`
		Config   json.RawMessage `json:"configuration"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(params, &req); err != nil {
		return Sent{}, invalid("the request can't be read: %v", err)
	}
	m := req.Message
	switch {
	case m == nil:
		return Sent{}, invalid("message is missing")
	case m.ID == "":
		return Sent{}, invalid("message.messageId is missing; send an id that no other message has")
	case m.Role != string(sdk.MessageRoleUser):
		return Sent{}, invalid("message.role must be %s", sdk.MessageRoleUser)
	case len(m.Parts) == 0:
		return Sent{}, invalid("message.parts is empty; send a text")
	}
	m.Metadata = req.Metadata
	if len(req.Config) > 0 {
		if err := json.Unmarshal(req.Config, &m.Config); err != nil {
			return Sent{}, invalid("configuration can't be read: %v", err)
		}
	}
	return *m, nil
}

// Input is the message as the input of a run. inputs are the media types that its files may have.
func (m Sent) Input(takes func(mediaType string) bool) (json.RawMessage, error) {
	var parts []wire.Part
	for i, p := range m.Parts {
		switch {
		case p.URL != nil:
			return nil, sdk.NewError(sdk.ErrUnsupportedContentType, fmt.Sprintf("parts[%d] is a URL, which this server doesn't open; send the bytes in raw", i))
		case p.Raw != nil && !takes(p.MediaType):
			return nil, sdk.NewError(sdk.ErrUnsupportedContentType, fmt.Sprintf("parts[%d] has the media type %q; the agent card lists those that a file may have", i, p.MediaType))
		case p.Raw != nil && strings.HasPrefix(p.MediaType, "image/"):
			parts = append(parts, wire.Part{Type: core.PartImage, MediaType: p.MediaType, Data: p.Raw})
		case p.Raw != nil:
			parts = append(parts, wire.Part{Type: core.PartDocument, MediaType: p.MediaType, Name: p.Filename, Data: p.Raw})
		case p.Text != nil:
			parts = append(parts, wire.Part{Type: core.PartText, Text: *p.Text})
		default:
			parts = append(parts, wire.Part{Type: core.PartText, Text: string(p.Data)})
		}
	}
	return core.Encode(parts), nil
}

// sentParts are the parts of a message as a client has sent them.
func sentParts(sent []wire.Part) (parts sdk.ContentParts) {
	for _, p := range sent {
		switch {
		case !project.IsFile(p):
			parts = append(parts, sdk.NewTextPart(p.Text))
		case p.Data == nil:
			parts = append(parts, sdk.NewTextPart(project.Unshown(p)))
		default:
			file := sdk.NewRawPart(p.Data)
			file.MediaType, file.Filename = p.MediaType, p.Name
			parts = append(parts, file)
		}
	}
	return parts
}

// text is what the texts of the message say.
func (m Sent) text() string {
	var all []string
	for _, p := range m.Parts {
		if p.Text != nil {
			all = append(all, *p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// Answer is a data part that answers a question.
type Answer struct {
	ID          string          `json:"decisionId"`
	Approved    *bool           `json:"approved"`
	Result      json.RawMessage `json:"result"`
	Error       string          `json:"error"`
	Reason      string          `json:"reason"`
	Arguments   json.RawMessage `json:"arguments"`
	Fingerprint string          `json:"fingerprint"`
}

// mostAnswers is how many one message has: as many as the API takes decisions in one request.
const mostAnswers = 100

// Answers are the answers in the message; none if it is a message like any other. One that answers
// has nothing beside but texts, which are the reason of answers without one.
func (m Sent) Answers() (all []Answer, err error) {
	other := false
	for i, p := range m.Parts {
		var keys map[string]json.RawMessage
		if len(p.Data) == 0 || json.Unmarshal(p.Data, &keys) != nil || keys["decisionId"] == nil {
			other = other || p.Text == nil
			continue
		}
		// a member twice could say yes to one reader and no to another
		if err := strict.Check(p.Data); err != nil {
			return nil, invalid("parts[%d].data is ambiguous: %v", i, err)
		}
		a, err := readAnswer(keys)
		if err != nil {
			return nil, invalid("parts[%d].data: %v", i, err)
		}
		all = append(all, a)
	}
	switch {
	case len(all) > 0 && other:
		return nil, invalid("the message has answers and other content; send the content in a separate message")
	case len(all) > mostAnswers:
		return nil, invalid("the message has %d answers, and the limit is %d; send several messages", len(all), mostAnswers)
	}
	reason := m.text()
	for i := range all {
		all[i].Reason = cmp.Or(all[i].Reason, reason)
	}
	return all, nil
}

// readAnswer matches the members exactly, case included.
func readAnswer(keys map[string]json.RawMessage) (a Answer, err error) {
	into := map[string]any{"decisionId": &a.ID, "approved": &a.Approved, "error": &a.Error, "reason": &a.Reason, "fingerprint": &a.Fingerprint}
	for name, raw := range keys {
		switch to, known := into[name]; {
		case name == "result":
			a.Result = raw
		case name == "arguments":
			a.Arguments = raw
		case !known:
			return a, fmt.Errorf("has the unknown member %s", name)
		case json.Unmarshal(raw, to) != nil:
			return a, fmt.Errorf("has the wrong type for %s", name)
		}
	}
	switch {
	case !strings.HasPrefix(a.ID, "sus_"):
		return a, errors.New("decisionId must be that of a question of the task")
	case a.Approved == nil && a.Result == nil && a.Error == "":
		return a, errors.New("needs approved, result or error")
	}
	return a, nil
}

// Decision is the answer as a decision. It depends on nothing else, so that a repeat is the same
// decision. q is the question if it is open: an approval is only given by saying so, not by a
// result that means it.
func (a Answer) Decision(q *wire.Pending) (wire.Decision, error) {
	d := wire.Decision{Target: a.ID, Result: a.Result, Error: a.Error, Reason: a.Reason, Arguments: a.Arguments, Shown: a.Fingerprint}
	if a.Fingerprint != "" {
		d.ShownBy = "a2a/1"
	}
	if a.Approved != nil {
		d.Action = core.ActionCancel.String()
		if *a.Approved {
			d.Action = core.ActionResume.String()
		}
		return d, nil
	}
	if a.Result != nil && q != nil && q.Kind == core.KindApproval.String() && q.ResumeMode != core.UseDecisionAsToolResult.String() {
		return d, invalid("the question %s asks for an approval, so a result doesn't answer it; send approved", a.ID)
	}
	return d, nil
}
