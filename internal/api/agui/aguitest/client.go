// Package aguitest holds streams of AG-UI events against what its clients demand.
package aguitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/agui"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Client does what the stock client does with the events of its responses, and refuses what that
// one would refuse. The zero value has seen none.
type Client struct {
	Messages   []agui.Message
	State      json.RawMessage
	Interrupts []string // the ids of those that are open

	open  map[string]bool // what has begun and not ended, by kind and id
	begun bool
	over  bool
}

// Response takes the events of one response. Without an end it is one that is under way.
func (c *Client) Response(events []agui.Event, ends bool) error {
	c.open, c.begun, c.over = map[string]bool{}, false, false
	for i, e := range events {
		if err := c.take(e); err != nil {
			return fmt.Errorf("event %d, %s: %w", i, core.Encode(e), err)
		}
	}
	if ends && !c.over {
		return fmt.Errorf("the response of %d events has no end", len(events))
	}
	return nil
}

func (c *Client) take(e agui.Event) error {
	var members map[string]any
	if err := json.Unmarshal(core.Encode(e), &members); err != nil {
		return err
	}
	for name, value := range members {
		if value == nil && name != "snapshot" {
			return fmt.Errorf("%s is null", name)
		}
	}
	switch first := e.Type == agui.RunStarted; {
	case c.over:
		return fmt.Errorf("it comes after the end")
	case first == c.begun && e.Type != agui.RunError:
		return fmt.Errorf("RUN_STARTED comes first, and once")
	case first:
		c.begun = true
		return nil
	}
	return c.apply(e)
}

func (c *Client) apply(e agui.Event) error {
	switch e.Type {
	case agui.StepStarted, agui.StepFinished:
		return c.bracket("step", e.StepName, e.Type == agui.StepStarted)
	case agui.TextStart, agui.TextContent, agui.TextEnd:
		return c.text(e)
	case agui.ReasoningStart, agui.ReasoningEnd:
		return c.bracket("span", e.MessageID, e.Type == agui.ReasoningStart)
	case agui.ReasoningBegin, agui.ReasoningContent, agui.ReasoningFinish:
		return c.reasoning(e)
	case agui.CallStart, agui.CallArguments, agui.CallEnd:
		return c.call(e)
	case agui.CallResult:
		return c.result(e)
	case agui.MessagesSnapshot:
		return c.restated(*e.Messages)
	case agui.StateSnapshot:
		c.State = e.Snapshot
		return nil
	case agui.Custom:
		return nil
	case agui.RunFinished, agui.RunError:
		return c.end(e)
	}
	return fmt.Errorf("the client doesn't know the type")
}

// bracket opens or closes something that can be open once.
func (c *Client) bracket(kind, id string, opens bool) error {
	key := kind + " " + id
	if id == "" || c.open[key] == opens {
		return fmt.Errorf("%s open: %v", key, c.open[key])
	}
	c.open[key] = opens
	if !opens {
		delete(c.open, key)
	}
	return nil
}

func (c *Client) text(e agui.Event) error {
	switch e.Type {
	case agui.TextStart:
		if c.find(e.MessageID) < 0 {
			nothing := ""
			c.Messages = append(c.Messages, agui.Message{ID: e.MessageID, Role: e.Role, Content: &nothing})
		}
		return c.bracket("text", e.MessageID, true)
	case agui.TextEnd:
		return c.bracket("text", e.MessageID, false)
	}
	return c.more("text", e)
}

func (c *Client) reasoning(e agui.Event) error {
	switch e.Type {
	case agui.ReasoningBegin:
		if c.find(e.MessageID) < 0 {
			nothing := ""
			c.Messages = append(c.Messages, agui.Message{ID: e.MessageID, Role: "reasoning", Content: &nothing})
		}
		return c.bracket("reasoning", e.MessageID, true)
	case agui.ReasoningFinish:
		return c.bracket("reasoning", e.MessageID, false)
	}
	return c.more("reasoning", e)
}

func (c *Client) more(kind string, e agui.Event) error {
	at := c.find(e.MessageID)
	if at < 0 || !c.open[kind+" "+e.MessageID] || e.Delta == "" {
		return fmt.Errorf("message at %d, open: %v", at, c.open)
	}
	m := &c.Messages[at]
	text := e.Delta
	if m.Content != nil {
		text = *m.Content + text
	}
	m.Content = &text
	return nil
}

func (c *Client) find(id string) int {
	return slices.IndexFunc(c.Messages, func(m agui.Message) bool { return m.ID == id })
}

// requested is the message that requested a call.
func (c *Client) requested(call string) int {
	return slices.IndexFunc(c.Messages, func(m agui.Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(t agui.ToolCall) bool { return t.ID == call })
	})
}

func (c *Client) call(e agui.Event) error {
	switch e.Type {
	case agui.CallStart:
		if c.requested(e.ToolCallID) >= 0 {
			return fmt.Errorf("the call is there")
		}
		at := c.find(e.ParentMessageID)
		if at < 0 {
			at = len(c.Messages)
			c.Messages = append(c.Messages, agui.Message{ID: e.ParentMessageID, Role: "assistant"})
		}
		c.Messages[at].ToolCalls = append(c.Messages[at].ToolCalls, agui.ToolCall{ID: e.ToolCallID, Type: "function", Function: agui.Function{Name: e.ToolCallName}})
		return c.bracket("call", e.ToolCallID, true)
	case agui.CallEnd:
		return c.bracket("call", e.ToolCallID, false)
	}
	at := c.requested(e.ToolCallID)
	if at < 0 || !c.open["call "+e.ToolCallID] {
		return fmt.Errorf("the call isn't open")
	}
	for i := range c.Messages[at].ToolCalls {
		if t := &c.Messages[at].ToolCalls[i]; t.ID == e.ToolCallID {
			t.Function.Arguments += e.Delta
		}
	}
	return nil
}

func (c *Client) result(e agui.Event) error {
	if e.Content == nil || e.MessageID == "" || c.find(e.MessageID) >= 0 {
		return fmt.Errorf("it has no content, no id, or an id that is taken")
	}
	at := c.requested(e.ToolCallID) + 1
	if at == 0 {
		at = len(c.Messages)
	}
	for at < len(c.Messages) && c.Messages[at].Role == "tool" {
		at++
	}
	c.Messages = slices.Insert(c.Messages, at, agui.Message{ID: e.MessageID, Role: "tool", Content: e.Content, ToolCallID: e.ToolCallID, Metadata: e.Metadata})
	return nil
}

// restated replaces messages in place, adds new ones at the end, and drops those that are left out,
// but reasoning if none is restated.
func (c *Client) restated(snapshot []agui.Message) error {
	for what := range c.open {
		if !strings.HasPrefix(what, "step ") {
			return fmt.Errorf("%s is open", what)
		}
	}
	given := map[string]agui.Message{}
	reasoning := false
	for _, m := range snapshot {
		if _, twice := given[m.ID]; twice {
			return fmt.Errorf("two messages are %s", m.ID)
		}
		given[m.ID] = m
		reasoning = reasoning || m.Role == "reasoning"
	}
	var kept []agui.Message
	for _, m := range c.Messages {
		switch again, ok := given[m.ID]; {
		case ok:
			kept = append(kept, again)
			delete(given, m.ID)
		case m.Role == "reasoning" && !reasoning:
			kept = append(kept, m)
		}
	}
	for _, m := range snapshot {
		if _, isNew := given[m.ID]; isNew {
			kept = append(kept, m)
		}
	}
	c.Messages = slices.Clone(kept)
	for i, m := range c.Messages {
		c.Messages[i].ToolCalls = slices.Clone(m.ToolCalls)
	}
	return nil
}

func (c *Client) end(e agui.Event) error {
	c.over, c.Interrupts = true, nil
	if e.Type == agui.RunError {
		if e.Message == "" {
			return fmt.Errorf("it has no message")
		}
		return nil
	}
	if len(c.open) > 0 {
		return fmt.Errorf("open: %v", c.open)
	}
	if e.Outcome == nil {
		return nil
	}
	for _, i := range e.Outcome.Interrupts {
		c.Interrupts = append(c.Interrupts, i.ID)
	}
	if (e.Outcome.Type == agui.OutcomeInterrupt) != (len(c.Interrupts) > 0) {
		return fmt.Errorf("an interrupt and its questions belong together")
	}
	return nil
}
