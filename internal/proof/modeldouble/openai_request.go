package modeldouble

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// openAIRequest is what of a request is looked at.
type openAIRequest struct {
	Model         string          `json:"model"`
	Messages      []openAIMessage `json:"messages"`
	Tools         []openAITool    `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	Stream        bool            `json:"stream"`
	StreamOptions json.RawMessage `json:"stream_options"`
}

type openAIMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Reasoning string          `json:"reasoning"`
	Thinking  string          `json:"reasoning_content"`
	CallID    string          `json:"tool_call_id"`
	Calls     []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type openAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

var openAIName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// read reads a request, and says what a strict endpoint refuses of it.
func (o openAI) read(body []byte) (Asked, *openAIError) {
	var r openAIRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return Asked{}, openAIInvalid("the body could not be parsed: " + err.Error())
	}
	asked := Asked{Model: r.Model, Stream: r.Stream}
	switch {
	case r.Model == "":
		return asked, openAIInvalid("you must provide a model parameter")
	case len(r.Messages) == 0:
		return asked, openAIInvalid("'messages' is empty")
	case r.StreamOptions != nil && !r.Stream:
		return asked, openAIInvalid("'stream_options' is only allowed when 'stream' is enabled")
	case r.StreamOptions != nil && o.NoStreamOptions:
		return asked, openAIInvalid("Unrecognized request argument supplied: stream_options")
	case len(r.Tools) == 0 && r.ToolChoice != nil:
		return asked, openAIInvalid("'tool_choice' is only allowed when 'tools' are specified")
	}
	if refused := asked.openAITools(r.Tools); refused != nil {
		return asked, refused
	}
	return asked, o.conversation(&asked, r.Messages)
}

func (a *Asked) openAITools(tools []openAITool) *openAIError {
	seen := map[string]bool{}
	for i, t := range tools {
		var schema struct{ Type string }
		switch f := t.Function; {
		case t.Type != "function" || !openAIName.MatchString(f.Name) || seen[f.Name]:
			return openAIInvalid(fmt.Sprintf("'tools[%d].function.name' does not match '^[a-zA-Z0-9_-]{1,64}$', or is there twice: %q", i, f.Name))
		case json.Unmarshal(f.Parameters, &schema) != nil || schema.Type != "object":
			return openAIInvalid(fmt.Sprintf("'tools[%d].function.parameters' is no schema of an object", i))
		}
		seen[t.Function.Name] = true
		a.Tools = append(a.Tools, core.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	return nil
}

// conversation reads the messages. Each call has its result right behind its turn, and no result is
// without a call; users and assistants take turns.
func (o openAI) conversation(a *Asked, messages []openAIMessage) *openAIError {
	var open []string // calls without a result
	last := ""
	for i, m := range messages {
		wrong := func(format string, args ...any) *openAIError {
			return openAIInvalid(fmt.Sprintf("messages[%d]: ", i) + fmt.Sprintf(format, args...))
		}
		if len(open) > 0 && m.Role != "tool" {
			return wrong("tool_call_ids that have no response message: %s", strings.Join(open, ", "))
		}
		var refused error
		switch m.Role {
		case "system":
			if i > 0 {
				return wrong("a system message may be the first only")
			}
			a.System, refused = openAIText(m.Content)
		case "user":
			if last == "user" {
				return wrong("roles must alternate user/assistant")
			}
			refused = a.openAIUser(m)
		case "assistant":
			if last == "" || last == "assistant" {
				return wrong("roles must alternate user/assistant, and a user is first")
			}
			open, refused = a.openAIAssistant(m, o.NoReasoning)
		case "tool":
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return wrong("a message of role 'tool' must be a response to a preceding message with 'tool_calls'")
			}
			open = slices.Delete(open, at, at+1)
			var text string
			text, refused = openAIText(m.Content)
			a.Messages = append(a.Messages, core.Message{Role: core.RoleTool, CallID: m.CallID, Parts: core.TextParts(text)})
		default:
			return wrong("%q is no role", m.Role)
		}
		if refused != nil {
			return wrong("%v", refused)
		}
		if m.Role != "system" {
			last = m.Role
		}
	}
	if len(open) > 0 {
		return openAIInvalid("tool_call_ids that have no response message: " + strings.Join(open, ", "))
	}
	return nil
}

func openAIText(raw json.RawMessage) (text string, err error) {
	if err := json.Unmarshal(raw, &text); err != nil || text == "" {
		return "", fmt.Errorf("content is no text, or an empty one")
	}
	return text, nil
}

func (a *Asked) openAIAssistant(m openAIMessage, noReasoning bool) (open []string, err error) {
	var text string
	switch {
	case noReasoning && (m.Thinking != "" || m.Reasoning != ""):
		return nil, fmt.Errorf("extra fields not permitted: reasoning_content")
	case len(m.Calls) == 0 || !core.IsNull(m.Content):
		if text, err = openAIText(m.Content); err != nil {
			return nil, err
		}
	}
	out := core.Message{Role: core.RoleAssistant}
	if thought := m.Thinking + m.Reasoning; thought != "" {
		out.Parts = []core.Part{{Type: core.PartReasoning, Text: thought, Provider: "openai"}}
	}
	out.Parts = append(out.Parts, core.TextParts(text)...)
	for _, c := range m.Calls {
		var object map[string]json.RawMessage
		switch {
		case !openAIName.MatchString(c.ID) || slices.Contains(open, c.ID) || c.Type != "function":
			return nil, fmt.Errorf("a tool call needs an id of its own: %q", c.ID)
		case !openAIName.MatchString(c.Function.Name):
			return nil, fmt.Errorf("%q is no name of a tool", c.Function.Name)
		case json.Unmarshal([]byte(c.Function.Arguments), &object) != nil || object == nil:
			return nil, fmt.Errorf("the arguments of a tool call are no object")
		}
		open = append(open, c.ID)
		out.Calls = append(out.Calls, core.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	}
	a.Messages = append(a.Messages, out)
	return open, nil
}

func (a *Asked) openAIUser(m openAIMessage) error {
	out := core.Message{Role: core.RoleUser}
	if text, err := openAIText(m.Content); err == nil {
		out.Parts = core.TextParts(text)
		a.Messages = append(a.Messages, out)
		return nil
	}
	var pieces []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
		File struct {
			Name string `json:"filename"`
			Data string `json:"file_data"`
		} `json:"file"`
	}
	if json.Unmarshal(m.Content, &pieces) != nil || len(pieces) == 0 {
		return fmt.Errorf("content is neither a text nor a list of parts, or is empty")
	}
	for _, p := range pieces {
		part := core.Part{Type: core.PartText, Text: p.Text}
		var ok bool
		switch p.Type {
		case "text":
			ok = p.Text != ""
		case "image_url":
			part, ok = openAIData(core.PartImage, p.Image.URL)
		case "file":
			part, ok = openAIData(core.PartDocument, p.File.Data)
			part.Name, ok = p.File.Name, ok && p.File.Name != "" && part.Media == "application/pdf"
		}
		if !ok {
			return fmt.Errorf("a part of type %q cannot be read", p.Type)
		}
		out.Parts = append(out.Parts, part)
	}
	a.Messages = append(a.Messages, out)
	return nil
}

// openAIData reads a data URL.
func openAIData(kind, url string) (core.Part, bool) {
	rest, is := strings.CutPrefix(url, "data:")
	media, text, whole := strings.Cut(rest, ";base64,")
	data, err := base64.StdEncoding.DecodeString(text)
	return core.Part{Type: kind, Media: media, Data: data}, is && whole && err == nil && len(data) > 0
}
