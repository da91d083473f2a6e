package recording

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Ended is the code of the [engine.StopError] at the end of a recording.
const Ended = "recording_ended"

// Model plays the assistant of the conversation. It answers by position: the number of messages in
// the prompt, without notices of the runtime and the context of clients, selects the turn, so a
// repeated request gets the same turn. If the recording has no turn of the assistant at that
// position, it stops with the code [Ended]. Call ids are as recorded, including repeated ones.
func (c Conversation) Model() engine.Model { return player{c} }

type player struct{ conversation Conversation }

func (p player) Ask(_ context.Context, prompt engine.Prompt) (core.Turn, error) {
	at := 0
	for _, m := range prompt.Messages {
		if m.Role != core.RoleSystem && m.Role != core.RoleContext {
			at++
		}
	}
	messages := p.conversation.Messages
	if at >= len(messages) || messages[at].Role != core.RoleAssistant {
		return core.Turn{}, &engine.StopError{Code: Ended,
			Detail: fmt.Sprintf("the recording %s has no turn of the assistant at message %d", p.conversation.ID, at+1)}
	}
	return turnOf(messages[at]), nil
}

func turnOf(m core.Message) core.Turn {
	turn := core.Turn{Text: m.Text()}
	turn.Calls = append(turn.Calls, m.Calls...)
	for _, p := range m.Parts {
		if p.Type != core.PartText {
			turn.Content = m.Parts
		}
	}
	return turn
}

// Model plays the assistant of the conversation that begins with the same user message as the
// thread, or of the first if there are several. If there is none, that is an error, which ends the
// run.
func Model(conversations []Conversation) engine.Model {
	m := chooser{}
	for _, c := range conversations {
		begin := opening(c.Messages[0])
		if _, taken := m[begin]; !taken {
			m[begin] = c
		}
	}
	return m
}

type chooser map[string]Conversation

func (m chooser) Ask(ctx context.Context, prompt engine.Prompt) (core.Turn, error) {
	said := slices.IndexFunc(prompt.Messages, func(m core.Message) bool { return m.Role != core.RoleContext })
	if said < 0 {
		return core.Turn{}, fmt.Errorf("recording: the thread is empty")
	}
	c, ok := m[opening(prompt.Messages[said])]
	if !ok {
		return core.Turn{}, &engine.ModelError{Detail: "no conversation of the recording begins like this thread; begin with a message that was " +
			"recorded, or record a conversation that begins like it"}
	}
	return player{c}.Ask(ctx, prompt)
}

// opening identifies a conversation: the text of its first message, with its images and documents.
func opening(m core.Message) string {
	if words := mediaWords(m); words != "" {
		return m.Text() + "\x00" + words
	}
	return m.Text()
}

// Results returns the recorded results by call id, in the form that the runtime gives repeated ids
// ([UniqueIDs]).
func (c Conversation) Results() map[string]core.Message {
	results := map[string]core.Message{}
	for _, m := range UniqueIDs(c.Messages) {
		if m.Role == core.RoleTool {
			results[m.CallID] = m
		}
	}
	return results
}

// Tool plays every tool of the conversation: a call gets the result that was recorded for its id.
// It fails for other ids.
func (c Conversation) Tool() engine.Tool { return results(c.Results()) }

// WithResults returns the conversation as it would have been recorded if the calls with these ids
// had these results. Ids are in the form that the runtime gives them, in the argument and in the
// result.
func (c Conversation) WithResults(texts map[string]string) Conversation {
	c.Messages = UniqueIDs(c.Messages)
	for i, m := range c.Messages {
		if text, other := texts[m.CallID]; other && m.Role == core.RoleTool {
			c.Messages[i].Parts = core.TextParts(text)
			// the recorded result with a note appended, which keeps everything else
			// that belongs to it
			if strings.HasPrefix(text, m.Text()) {
				c.Messages[i].Parts = append(core.TextParts(text), media(m)...)
			}
		}
	}
	c.written = nil
	return c
}

type results map[string]core.Message

func (r results) Run(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
	m, ok := r[req.Call.ID]
	if !ok || m.Tool != req.Call.Name {
		return core.Outcome{Text: fmt.Sprintf("no result is recorded for call %s of %s", req.Call.ID, req.Call.Name), Failed: true}, nil
	}
	return core.Outcome{Text: m.Text(), Media: media(m)}, nil
}
