package aisdk

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// UIMessage is a message as a chat holds it.
type UIMessage struct {
	ID       string    `json:"id"`
	Role     string    `json:"role"`
	Metadata *Metadata `json:"metadata,omitempty"`
	Parts    []*UIPart `json:"parts"`

	sent []wire.Part // a user's, if it is more than text
}

// UIPart is a part of a [UIMessage].
type UIPart struct {
	Type        string          `json:"type"`
	ID          string          `json:"id,omitempty"`
	Text        string          `json:"text,omitempty"`
	MediaType   string          `json:"mediaType,omitempty"`
	Filename    string          `json:"filename,omitempty"`
	URL         string          `json:"url,omitempty"`
	State       string          `json:"state,omitempty"`
	ToolCallID  string          `json:"toolCallId,omitempty"`
	Title       string          `json:"title,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	Preliminary bool            `json:"preliminary,omitempty"`
	ErrorText   string          `json:"errorText,omitempty"`
	Approval    *UIApproval     `json:"approval,omitempty"`
	Data        any             `json:"data,omitempty"`
}

// UIApproval is the question of a part, and its answer.
type UIApproval struct {
	ID            string `json:"id"`
	RequestReason string `json:"requestReason,omitempty"` // why it is asked; since version 7
	Approved      *bool  `json:"approved,omitempty"`
	Reason        string `json:"reason,omitempty"`
}

// History turns the events of a conversation, of all its runs in their order, into the messages
// that a chat holds after it has seen all of them.
type History struct {
	sdk      int
	stream   *Stream
	run      string
	messages []*UIMessage
}

// NewHistory begins a history for a version of the client, as [View] has it.
func NewHistory(sdk int) *History { return &History{sdk: sdk, messages: []*UIMessage{}} }

// Messages are those so far, with their files, as they are when the last response ends here.
func (h *History) Messages(files *project.Files) []*UIMessage {
	if h.stream != nil {
		var last chunks
		h.stream.delegated(&last)
		for _, c := range last {
			h.apply(c)
		}
	}
	for _, m := range h.messages {
		if m.sent != nil {
			m.Parts = userParts(files.Of(m.ID, m.sent))
		}
	}
	return h.messages
}

// userParts are the parts of a user's message that has files.
func userParts(sent []wire.Part) []*UIPart {
	parts := make([]*UIPart, len(sent))
	for i, p := range sent {
		switch {
		case !project.IsFile(p):
			parts[i] = &UIPart{Type: "text", Text: p.Text}
		case p.Data == nil:
			parts[i] = &UIPart{Type: "text", Text: project.Unshown(p)}
		default:
			parts[i] = &UIPart{Type: "file", MediaType: p.MediaType, Filename: p.Name, URL: "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)}
		}
	}
	return parts
}

// Push takes the next event.
func (h *History) Push(e wire.Event) error {
	if e.RunID != h.run && len(e.Path) == 0 {
		h.run, h.stream = e.RunID, NewStream(View{Turn: 1, SDK: h.sdk, whole: true})
	}
	if core.EventType(e.Type) == core.EventMessageReceived && len(e.Path) == 0 {
		var data wire.MessageReceivedData
		if err := e.Decode(&data); err != nil {
			return err
		}
		h.messages = append(h.messages, &UIMessage{ID: data.MessageID, Role: "user", Parts: []*UIPart{{Type: "text", Text: data.Text}}, sent: data.Parts})
	}
	chunks, err := h.stream.Push(e)
	for _, c := range chunks {
		h.apply(c)
	}
	return err
}

// apply does to the messages what a client does at a chunk.
func (h *History) apply(c Chunk) {
	switch c.Type {
	case Start:
		h.messages = append(h.messages, &UIMessage{ID: c.MessageID, Role: "assistant", Metadata: c.Metadata, Parts: []*UIPart{}})
	case StartStep:
		h.add(&UIPart{Type: "step-start"})
	case TextStart, ReasoningStart:
		h.add(&UIPart{Type: strings.TrimSuffix(c.Type, "-start"), ID: c.ID, State: "done"})
	case TextDelta, ReasoningDelta:
		p := h.part(func(p *UIPart) bool { return p.ID == c.ID && p.ToolCallID == "" })
		p.Text += c.Delta
	case InputStart:
		h.add(&UIPart{Type: "tool-" + c.ToolName, ToolCallID: c.ToolCallID, Title: c.Title, State: "input-streaming"})
	case InputDelta:
		p := h.part(func(p *UIPart) bool { return p.ToolCallID == c.ToolCallID })
		p.Input = append(p.Input, c.InputDelta...)
	case InputAvailable:
		h.inputAvailable(c)
	default:
		if strings.HasPrefix(c.Type, "data-") {
			h.data(c)
			return
		}
		if c.ToolCallID != "" || c.ApprovalID != "" {
			h.tool(c)
		}
	}
}

func (h *History) add(p *UIPart) {
	last := h.messages[len(h.messages)-1]
	last.Parts = append(last.Parts, p)
}

// part is the newest that is meant; an empty one, which no message holds, if there is none.
func (h *History) part(is func(*UIPart) bool) *UIPart {
	for _, m := range slices.Backward(h.messages) {
		for _, p := range slices.Backward(m.Parts) {
			if is(p) {
				return p
			}
		}
	}
	return &UIPart{}
}

func (h *History) inputAvailable(c Chunk) {
	p := h.part(func(p *UIPart) bool { return p.ToolCallID == c.ToolCallID })
	if p.ToolCallID == "" {
		h.add(&UIPart{Type: "tool-" + c.ToolName, ToolCallID: c.ToolCallID, Title: c.Title, Input: c.Input, State: "input-available"})
		return
	}
	p.Input, p.State, p.Output, p.Preliminary = c.Input, "input-available", nil, false
}

func (h *History) data(c Chunk) {
	if c.Transient {
		return
	}
	p := h.part(func(p *UIPart) bool { return p.Type == c.Type && p.ID == c.ID })
	if p.Type == "" {
		h.add(&UIPart{Type: c.Type, ID: c.ID, Data: c.Data})
		return
	}
	p.Data = c.Data
}

func (h *History) tool(c Chunk) {
	p := h.part(func(p *UIPart) bool {
		return p.ToolCallID != "" && (p.ToolCallID == c.ToolCallID || p.Approval != nil && p.Approval.ID == c.ApprovalID)
	})
	switch c.Type {
	case ApprovalRequest:
		p.State, p.Approval = "approval-requested", &UIApproval{ID: c.ApprovalID, RequestReason: c.Reason}
	case ApprovalResponded:
		p.State = "approval-responded"
		if p.Approval != nil {
			p.Approval.Approved, p.Approval.Reason = c.Approved, c.Reason
		}
	case OutputAvailable:
		p.State, p.Output, p.Preliminary = "output-available", c.Output, c.Preliminary
		p.approved(true)
	case OutputError:
		p.State, p.ErrorText = "output-error", c.ErrorText
		p.approved(true)
	case OutputDenied:
		p.State = "output-denied"
		p.approved(false)
	}
}

// approved: the clients' schema wants the answer beside the outcome.
func (p *UIPart) approved(yes bool) {
	if p.Approval != nil && p.Approval.Approved == nil {
		p.Approval.Approved = &yes
	}
}
