package modeldouble

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// bedrockTalk reads the messages of a request in their order.
type bedrockTalk struct {
	asked     *Asked
	points    int
	open      []string // calls of the turn before that have no result yet
	ids       map[string]string
	documents map[string]bool
	tools     bool // there are blocks of tools
}

func (r *bedrockRequest) readMessages(a *Asked) error {
	t := bedrockTalk{asked: a, ids: map[string]string{}, documents: map[string]bool{}}
	if len(r.Messages) == 0 {
		return bedrockRefuses("A conversation must have at least one message")
	}
	for i, m := range r.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return bedrockRefuses("A conversation must alternate between user and assistant roles and begin with a user message; "+
				"message %d is of the role %q", i, m.Role)
		}
		if len(m.Content) == 0 {
			return bedrockRefuses("The content field in the Message object at messages.%d is empty", i)
		}
		read := t.user
		if m.Role == "assistant" {
			read = t.assistant
		}
		if err := read(m.Content); err != nil {
			return bedrockRefuses("messages.%d: %v", i, err)
		}
	}
	if len(r.Messages)%2 == 0 {
		return bedrockRefuses("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if t.tools && len(a.Tools) == 0 {
		return bedrockRefuses("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	}
	r.points += t.points
	return nil
}

var bedrockIDs = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,64}$`)

func (t *bedrockTalk) assistant(content []bedrockContent) error {
	m := core.Message{Role: core.RoleAssistant}
	for i, c := range content {
		switch {
		case c.CachePoint != nil:
			t.points++
		case c.Text != nil:
			if strings.TrimSpace(*c.Text) == "" {
				return bedrockRefuses("The text field in the ContentBlock object at content.%d is blank", i)
			}
			m.Parts = append(m.Parts, core.Part{Type: core.PartText, Text: *c.Text})
		case c.ToolUse != nil:
			if err := t.call(&m, c); err != nil {
				return err
			}
		case c.Reasoning != nil:
			p, err := bedrockReasoningPart(c)
			if err != nil {
				return err
			}
			m.Parts = append(m.Parts, p)
		default:
			return bedrockRefuses("the block at content.%d is of a kind that an assistant does not say", i)
		}
	}
	if last := content[len(content)-1]; last.Reasoning != nil {
		return bedrockRefuses("The final block in an assistant message cannot be reasoning")
	}
	t.asked.Messages = append(t.asked.Messages, bedrockPlain(m))
	return nil
}

// bedrockPlain leaves out the places of calls behind which nothing stands.
func bedrockPlain(m core.Message) core.Message {
	for n := len(m.Parts); n > 0 && m.Parts[n-1].Type == core.PartCall; n = len(m.Parts) {
		m.Parts = m.Parts[:n-1]
	}
	return m
}

func (t *bedrockTalk) call(m *core.Message, c bedrockContent) error {
	u := c.ToolUse
	_, twice := t.ids[u.ID]
	switch {
	case !bedrockIDs.MatchString(u.ID):
		return bedrockRefuses("Value at 'toolUse.toolUseId' failed to satisfy constraint: %s", bedrockIDs)
	case !bedrockNames.MatchString(u.Name):
		return bedrockRefuses("Value at 'toolUse.name' failed to satisfy constraint: %s", bedrockNames)
	case twice:
		return bedrockRefuses("toolUse ids must be unique; %s is there twice", u.ID)
	case len(u.Input) == 0 || u.Input[0] != '{':
		return bedrockRefuses("The format of the value at toolUse.input is invalid. Provide a json object for the field and try again.")
	}
	t.tools, t.ids[u.ID] = true, u.Name
	t.open = append(t.open, u.ID)
	m.Calls = append(m.Calls, core.ToolCall{ID: u.ID, Name: u.Name, Arguments: u.Input})
	m.Parts = append(m.Parts, core.Part{Type: core.PartCall, Call: u.ID})
	return nil
}

// bedrockReasoningPart is reasoning that came back, as it was given to the double to be said.
func bedrockReasoningPart(c bedrockContent) (core.Part, error) {
	changed := bedrockRefuses("thinking or redacted_thinking blocks in an assistant message cannot be modified: Invalid signature in reasoning block")
	if r := c.Reasoning.Text; r != nil {
		if r.Signature == nil || *r.Signature != bedrockSignature(r.Text) {
			return core.Part{}, changed
		}
		return core.Part{Type: core.PartReasoning, Text: r.Text}, nil
	}
	data, ok := bedrockUnsealed(c.Reasoning.Redacted)
	if !ok {
		return core.Part{}, changed
	}
	return core.Part{Type: core.PartReasoning, Sealed: data}, nil
}

// user reads what a user says, results before anything else.
func (t *bedrockTalk) user(content []bedrockContent) error {
	said := core.Message{Role: core.RoleUser}
	for i, c := range content {
		if c.ToolResult == nil {
			if err := t.piece(&said, content, c, i); err != nil {
				return err
			}
			continue
		}
		if len(said.Parts) > 0 {
			return bedrockRefuses("toolResult blocks must come before any other content")
		}
		if err := t.result(c); err != nil {
			return err
		}
	}
	if len(t.open) > 0 {
		return bedrockRefuses("Expected toolResult blocks for the following ids: %s", strings.Join(t.open, ", "))
	}
	if len(said.Parts) > 0 {
		t.asked.Messages = append(t.asked.Messages, said)
	}
	return nil
}

func (t *bedrockTalk) result(c bedrockContent) error {
	r := c.ToolResult
	at := slices.Index(t.open, r.ID)
	switch {
	case at < 0:
		return bedrockRefuses("The toolResult %q answers no toolUse of the turn before", r.ID)
	case len(r.Content) == 0:
		return bedrockRefuses("The content field in the ToolResult object is empty")
	case r.Status != "" && r.Status != "success" && r.Status != "error":
		return bedrockRefuses("Value at 'toolResult.status' is %q", r.Status)
	}
	t.tools, t.open = true, slices.Delete(t.open, at, at+1)
	m := core.Message{Role: core.RoleTool, CallID: r.ID, Tool: t.ids[r.ID], Error: r.Status == "error"}
	for i, inner := range r.Content {
		if err := t.piece(&m, r.Content, inner, i); err != nil {
			return err
		}
	}
	t.asked.Messages = append(t.asked.Messages, m)
	return nil
}

var (
	bedrockDocumentNames = regexp.MustCompile(`^[a-zA-Z0-9()\[\]-]+( [a-zA-Z0-9()\[\]-]+)*$`)
	bedrockImages        = []string{"png", "jpeg", "gif", "webp"}
	bedrockDocuments     = []string{"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"}
)

// piece reads a text, an image or a document of a message or of a result. Media types stand as
// Bedrock's formats.
func (t *bedrockTalk) piece(m *core.Message, all []bedrockContent, c bedrockContent, i int) error {
	switch {
	case c.CachePoint != nil:
		t.points++
	case c.Text != nil:
		if strings.TrimSpace(*c.Text) == "" {
			return bedrockRefuses("The text field in the ContentBlock object at content.%d is blank", i)
		}
		m.Parts = append(m.Parts, core.Part{Type: core.PartText, Text: *c.Text})
	case c.Image != nil:
		if !slices.Contains(bedrockImages, c.Image.Format) || len(c.Image.Source.Bytes) == 0 {
			return bedrockRefuses("the image at content.%d has no bytes, or a format that is none of %v", i, bedrockImages)
		}
		m.Parts = append(m.Parts, core.Part{Type: core.PartImage, Media: c.Image.Format, Data: c.Image.Source.Bytes})
	case c.Document != nil:
		if err := t.document(all, c.Document, i); err != nil {
			return err
		}
		m.Parts = append(m.Parts, core.Part{Type: core.PartDocument, Media: c.Document.Format, Name: c.Document.Name, Data: c.Document.Source.Bytes})
	default:
		return bedrockRefuses("the block at content.%d is of a kind that a user does not say", i)
	}
	return nil
}

func (t *bedrockTalk) document(all []bedrockContent, d *bedrockMedia, i int) error {
	hasText := slices.ContainsFunc(all, func(c bedrockContent) bool { return c.Text != nil })
	switch {
	case !slices.Contains(bedrockDocuments, d.Format) || len(d.Source.Bytes) == 0:
		return bedrockRefuses("the document at content.%d has no bytes, or a format that is none of %v", i, bedrockDocuments)
	case len(d.Name) > 200 || !bedrockDocumentNames.MatchString(d.Name):
		return bedrockRefuses("The document file name can only contain alphanumeric characters, whitespace characters, hyphens, " +
			"parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.")
	case t.documents[d.Name]:
		return bedrockRefuses("The document name %s is there twice", d.Name)
	case !hasText:
		return bedrockRefuses("A text block must be included in a message with documents")
	}
	t.documents[d.Name] = true
	return nil
}
