// Package recording reads, writes, generates and compares recorded conversations, stored as one
// JSON object per line in the OpenAI chat format, and plays them back as a model and as tools. It
// runs nothing itself.
package recording

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Conversation is a recorded conversation, complete and well formed: it begins with a user message,
// every call has one result, and the results follow the turn that requested them, in the order of
// its calls.
type Conversation struct {
	ID       string
	Line     int    // the line in its file, counted from 1
	System   string // empty without one
	Messages []core.Message

	// Run is the run at whose end the conversation was recorded, if it is a thread of this
	// runtime. A file may contain a thread at the ends of several runs, in any order; the
	// longest one counts, see [Read].
	Run string

	// written are the messages in the order of the file, if that differs, because results may
	// come in any order there.
	written []core.Message
}

// MaxLine is the maximum length of a line in bytes.
const MaxLine = 64 << 20

// Read reads a file of conversations; name is for error messages. A file with any line in another
// form is rejected with "name:LINE: message N: reason"; messages count from 1. Call ids stay as
// written, including repeated ones. A conversation without an id is named line-N; of several with
// the same id, the later ones get their line as a suffix. Of the conversations that record one
// thread at the ends of several runs, only the longest is returned, and of equally long ones the
// last: threads only grow, so that one contains the others.
func Read(r io.Reader, name string) ([]Conversation, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLine)
	var out []Conversation
	seen, threads := map[string]bool{}, map[string]int{}
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		c, err := parseLine(lines.Bytes(), n)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if at, known := threads[c.ID]; known && c.Run != "" {
			if len(c.Messages) >= len(out[at].Messages) {
				out[at] = c
			}
			continue
		}
		if c.Run != "" {
			threads[c.ID] = len(out)
		}
		if seen[c.ID] {
			c.ID = fmt.Sprintf("%s (line %d)", c.ID, n)
		}
		seen[c.ID] = true
		out = append(out, c)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than %d MB", name, n+1, MaxLine>>20)
	case err != nil:
		return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
	case len(out) == 0:
		return nil, fmt.Errorf("%s:1: the file contains no conversation", name)
	}
	return out, nil
}

// fileLine is a conversation in its file form.
type fileLine struct {
	ID       string        `json:"id,omitempty"`
	Run      string        `json:"run,omitempty"`
	Messages []fileMessage `json:"messages"`
}

type fileMessage struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"`
	Reasoning    string          `json:"reasoning_content,omitempty"`
	Name         string          `json:"name,omitempty"`
	ToolCalls    []fileCall      `json:"tool_calls,omitempty"`
	ToolCallID   *string         `json:"tool_call_id,omitempty"`
	FunctionCall json.RawMessage `json:"function_call,omitempty"`
}

type fileCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type,omitempty"`
	Function fileFunction `json:"function"`
}

type fileFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func parseLine(line []byte, n int) (Conversation, error) {
	var raw struct {
		ID       json.RawMessage   `json:"id"`
		Run      string            `json:"run"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return Conversation{}, explain(err)
	}
	id, err := readID(raw.ID)
	if err != nil {
		return Conversation{}, err
	}
	c := Conversation{ID: cmp.Or(id, fmt.Sprintf("line-%d", n)), Line: n, Run: raw.Run}
	p := parser{conversation: &c}
	for i, m := range raw.Messages {
		if err := p.add(m); err != nil {
			return Conversation{}, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	if err := p.end(); err != nil {
		return Conversation{}, fmt.Errorf("message %d: %w", len(raw.Messages), err)
	}
	return c, nil
}

// readID accepts a text or a number.
func readID(raw json.RawMessage) (string, error) {
	var text string
	var number json.Number
	switch {
	case core.IsNull(raw):
		return "", nil
	case json.Unmarshal(raw, &text) == nil:
		return text, nil
	case json.Unmarshal(raw, &number) == nil:
		return number.String(), nil
	}
	return "", errors.New("id must be a text or a number")
}

// explain words an error of the JSON decoder without Go terms.
func explain(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := wrong.Field
		if where == "" {
			where = "this"
		}
		return fmt.Errorf("%s cannot be a JSON %s", where, wrong.Value)
	}
	return fmt.Errorf("not JSON: %w", err)
}

// parser reads the messages of a conversation in order and rejects impossible sequences.
type parser struct {
	conversation *Conversation
	seen         int // messages so far, including the system message
	// round holds the results of the open round by call; a missing one has no role
	round   []core.Message
	calls   []core.ToolCall
	missing int
}

func (p *parser) add(raw json.RawMessage) error {
	var m fileMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return explain(err)
	}
	if !core.IsNull(m.FunctionCall) {
		return errors.New("function_call is obsolete; put calls into tool_calls")
	}
	parts, err := readContent(m.Content)
	if err != nil {
		return err
	}
	p.seen++
	if m.Role == string(core.RoleTool) {
		return p.addResult(m, parts)
	}
	if p.missing > 0 {
		return p.unanswered("before the next message")
	}
	if m.ToolCallID != nil || m.Role != string(core.RoleAssistant) && len(m.ToolCalls) > 0 {
		return fmt.Errorf("a message with the role %q must not have tool_calls or tool_call_id", m.Role)
	}
	switch m.Role {
	case "system":
		return p.addSystem(parts)
	case string(core.RoleUser):
		p.push(core.Message{Role: core.RoleUser, Parts: parts})
		return nil
	case string(core.RoleAssistant):
		return p.addTurn(m, parts)
	}
	return fmt.Errorf("unknown role %q; use system, user, assistant or tool", m.Role)
}

func (p *parser) push(m core.Message) {
	p.conversation.Messages = append(p.conversation.Messages, m)
	p.round, p.calls = nil, nil
}

func (p *parser) last() core.Role {
	if n := len(p.conversation.Messages); n > 0 {
		return p.conversation.Messages[n-1].Role
	}
	return ""
}

func (p *parser) addSystem(parts []core.Part) error {
	if p.seen > 1 {
		return errors.New("the system message must be the first")
	}
	p.conversation.System = core.Message{Parts: parts}.Text()
	return nil
}

func (p *parser) addTurn(m fileMessage, parts []core.Part) error {
	switch p.last() {
	case "":
		return errors.New("the conversation must begin with a user message")
	case core.RoleAssistant:
		return errors.New("an assistant message without calls is followed by another assistant message")
	}
	calls, err := readCalls(m.ToolCalls)
	if err != nil {
		return err
	}
	if m.Reasoning != "" {
		parts = append([]core.Part{{Type: core.PartReasoning, Text: m.Reasoning}}, parts...)
	}
	p.push(core.Message{Role: core.RoleAssistant, Parts: parts, Calls: calls})
	p.calls, p.round, p.missing = calls, make([]core.Message, len(calls)), len(calls)
	return nil
}

// addResult assigns a result to the first call with that id that has none: ids may repeat, even
// within a turn.
func (p *parser) addResult(m fileMessage, parts []core.Part) error {
	if len(m.ToolCalls) > 0 {
		return errors.New("a tool message must not have tool_calls")
	}
	if m.ToolCallID == nil {
		return errors.New("a tool message needs a tool_call_id")
	}
	for i, call := range p.calls {
		if call.ID == *m.ToolCallID && p.round[i].Role == "" {
			p.round[i] = core.Message{Role: core.RoleTool, CallID: call.ID, Tool: call.Name, Parts: parts}
			p.missing--
			if p.missing == 0 {
				p.conversation.Messages = append(p.conversation.Messages, p.round...)
			}
			return nil
		}
	}
	return fmt.Errorf("the result for %q answers no open call of the turn before it", *m.ToolCallID)
}

func (p *parser) unanswered(when string) error {
	for i, call := range p.calls {
		if p.round[i].Role == "" {
			return fmt.Errorf("the call %q of %s has no result %s", call.ID, call.Name, when)
		}
	}
	return nil
}

func (p *parser) end() error {
	if p.missing > 0 {
		return p.unanswered("at the end")
	}
	if len(p.conversation.Messages) == 0 {
		return errors.New("the conversation has no user message")
	}
	return nil
}

func readCalls(in []fileCall) ([]core.ToolCall, error) {
	var out []core.ToolCall
	for i, c := range in {
		switch {
		case c.Type != "" && c.Type != "function":
			return nil, fmt.Errorf("call %d has the type %q; only function is supported", i+1, c.Type)
		case c.ID == "":
			return nil, fmt.Errorf("call %d has no id", i+1)
		case c.Function.Name == "":
			return nil, fmt.Errorf("call %d has no function name", i+1)
		}
		out = append(out, core.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: readArguments(c.Function.Arguments)})
	}
	return out, nil
}

// readArguments turns text that is not JSON into a JSON string, see [core.ToolCall].
func readArguments(text string) json.RawMessage {
	switch {
	case len(bytes.TrimSpace([]byte(text))) == 0:
		return json.RawMessage(`{}`)
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return core.Encode(text)
}
