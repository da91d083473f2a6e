// Package aisdktest holds streams of chunks against what the AI SDK's clients demand.
package aisdktest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/aisdk"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Client does what a client does with the chunks of its responses, and refuses what a client would
// refuse.
type Client struct {
	Messages []*Message

	at       *Message
	open     map[string]string // text and reasoning parts that have begun: their kind
	step     bool
	finished bool
}

// Message is an assistant's message, as its parts in words.
type Message struct {
	ID    string
	Parts []*Part
}

// Part is a part of a message.
type Part struct {
	Type, ID, Text, State, Approval string
	Data                            json.RawMessage
}

// Response takes the chunks of one response.
func (c *Client) Response(chunks []aisdk.Chunk) error {
	c.open, c.step, c.finished, c.at = map[string]string{}, false, false, nil
	for i, chunk := range chunks {
		if err := c.take(chunk); err != nil {
			return fmt.Errorf("chunk %d, %s: %w", i, core.Encode(chunk), err)
		}
	}
	if len(chunks) > 0 && !c.finished {
		return fmt.Errorf("the response has no end: its last chunk is %s", core.Encode(chunks[len(chunks)-1]))
	}
	return nil
}

func (c *Client) take(chunk aisdk.Chunk) error {
	switch {
	case c.finished:
		return fmt.Errorf("it comes after the end")
	case chunk.Type == aisdk.Start:
		return c.start(chunk)
	case c.at == nil:
		return fmt.Errorf("it comes before the start")
	case strings.HasPrefix(chunk.Type, "data-"):
		c.data(chunk)
		return nil
	case strings.HasPrefix(chunk.Type, "text-"), strings.HasPrefix(chunk.Type, "reasoning-"):
		return c.text(chunk)
	case chunk.Type == aisdk.InputStart, chunk.Type == aisdk.InputDelta:
		return c.inputBegins(chunk)
	case chunk.Type == aisdk.InputAvailable:
		c.input(chunk)
		return nil
	case strings.HasPrefix(chunk.Type, "tool-"):
		return c.tool(chunk)
	}
	return c.frame(chunk)
}

// start goes on with the last message, if that is the one.
func (c *Client) start(chunk aisdk.Chunk) error {
	if c.at != nil {
		return fmt.Errorf("the response has begun")
	}
	if n := len(c.Messages); n > 0 && c.Messages[n-1].ID == chunk.MessageID {
		c.at = c.Messages[n-1]
		return nil
	}
	for _, m := range c.Messages {
		if m.ID == chunk.MessageID {
			return fmt.Errorf("the message is not the last one")
		}
	}
	c.at = &Message{ID: chunk.MessageID}
	c.Messages = append(c.Messages, c.at)
	return nil
}

func (c *Client) frame(chunk aisdk.Chunk) error {
	switch chunk.Type {
	case aisdk.StartStep:
		if c.step {
			return fmt.Errorf("a step is open")
		}
		c.step = true
		c.at.Parts = append(c.at.Parts, &Part{Type: "step-start"})
	case aisdk.FinishStep:
		if !c.step || len(c.open) > 0 {
			return fmt.Errorf("step open: %v, parts open: %v", c.step, c.open)
		}
		c.step = false
	case aisdk.Failure:
		if chunk.ErrorText == "" {
			return fmt.Errorf("it has no text")
		}
	case aisdk.Finish:
		if c.step || len(c.open) > 0 {
			return fmt.Errorf("step open: %v, parts open: %v", c.step, c.open)
		}
		c.finished = true
	default:
		return fmt.Errorf("the client doesn't know the type")
	}
	return nil
}

func (c *Client) text(chunk aisdk.Chunk) error {
	kind, what, _ := strings.Cut(chunk.Type, "-")
	if !c.step {
		return fmt.Errorf("no step is open")
	}
	open := c.open[chunk.ID] == kind
	switch {
	case what == "start" && !open:
		c.open[chunk.ID] = kind
		c.at.Parts = append(c.at.Parts, &Part{Type: kind, ID: chunk.ID})
		return nil
	case what == "delta" && open && chunk.Delta != "":
		c.at.Parts[c.find(func(p *Part) bool { return p.ID == chunk.ID && p.Type == kind })].Text += chunk.Delta
		return nil
	case what == "end" && open:
		delete(c.open, chunk.ID)
		return nil
	}
	return fmt.Errorf("part open: %v", open)
}

// find is the place of the newest part that is meant; -1 if there is none.
func (c *Client) find(is func(*Part) bool) int {
	for i := len(c.at.Parts) - 1; i >= 0; i-- {
		if is(c.at.Parts[i]) {
			return i
		}
	}
	return -1
}

func (c *Client) data(chunk aisdk.Chunk) {
	if chunk.Transient {
		return
	}
	i := c.find(func(p *Part) bool { return p.Type == chunk.Type && p.ID == chunk.ID })
	if i < 0 {
		i = len(c.at.Parts)
		c.at.Parts = append(c.at.Parts, &Part{Type: chunk.Type, ID: chunk.ID})
	}
	c.at.Parts[i].Data = core.Encode(chunk.Data)
}

// inputBegins shows a call that isn't to be run so far.
func (c *Client) inputBegins(chunk aisdk.Chunk) error {
	i := c.find(func(p *Part) bool { return p.ID == chunk.ToolCallID })
	switch {
	case (chunk.Type == aisdk.InputStart) != (i < 0):
		return fmt.Errorf("the message has such a call: %v", i >= 0)
	case i < 0:
		c.at.Parts = append(c.at.Parts, &Part{Type: "tool-" + chunk.ToolName, ID: chunk.ToolCallID, State: "input-streaming"})
	default:
		c.at.Parts[i].Data = append(c.at.Parts[i].Data, chunk.InputDelta...)
	}
	return nil
}

func (c *Client) input(chunk aisdk.Chunk) {
	i := c.find(func(p *Part) bool { return p.ID == chunk.ToolCallID })
	if i < 0 {
		i = len(c.at.Parts)
		c.at.Parts = append(c.at.Parts, &Part{Type: "tool-" + chunk.ToolName, ID: chunk.ToolCallID})
	}
	c.at.Parts[i].State, c.at.Parts[i].Data = "input-available", chunk.Input
}

func (c *Client) tool(chunk aisdk.Chunk) error {
	i := c.find(func(p *Part) bool {
		return strings.HasPrefix(p.Type, "tool-") && (p.ID == chunk.ToolCallID || chunk.ToolCallID == "" && p.Approval == chunk.ApprovalID)
	})
	if i < 0 {
		return fmt.Errorf("the message has no such call")
	}
	p := c.at.Parts[i]
	switch chunk.Type {
	case aisdk.ApprovalRequest:
		p.State, p.Approval = "approval-requested", chunk.ApprovalID
	case aisdk.ApprovalResponded:
	case aisdk.OutputAvailable:
		p.State, p.Text = "output-available", string(chunk.Output)
	case aisdk.OutputError:
		p.State, p.Text = "output-error", chunk.ErrorText
	case aisdk.OutputDenied:
		p.State = "output-denied"
	default:
		return fmt.Errorf("the client doesn't know the type")
	}
	return nil
}
