package recording

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/callid"
)

// Mismatch is one difference between the recorded and the actual conversation.
type Mismatch struct {
	Conversation string
	Message      int    // counted from 1, without the system message
	Field        string // count, role, text, content, calls, call id, tool or arguments
	Want, Got    string
}

func (m Mismatch) String() string {
	return fmt.Sprintf("%s: message %d: %s: want %q, got %q", m.Conversation, m.Message, m.Field, m.Want, m.Got)
}

// Compare compares got, the messages of a thread, with a recording, message by message: role, text
// (null equals empty), images and documents, the called tools with their arguments as canonical
// JSON, the call that a result answers, and the result's text. Repeated ids are compared in the
// form that the runtime gives them ([UniqueIDs]). Placeholders whose result exists are skipped, and
// the results of one round are sorted by call, because their order is not defined; a duplicate
// result is a mismatch.
func Compare(want Conversation, got []core.Message) []Mismatch {
	c := comparison{conversation: want.ID}
	wanted, got := UniqueIDs(want.Messages), settled(got)
	for i := range max(len(wanted), len(got)) {
		c.message = i + 1
		switch {
		case i >= len(got):
			c.check("count", string(wanted[i].Role), "")
		case i >= len(wanted):
			c.check("count", "", string(got[i].Role))
		default:
			c.compare(wanted[i], got[i])
		}
	}
	return c.found
}

type comparison struct {
	conversation string
	message      int
	found        []Mismatch
}

func (c *comparison) check(field, want, got string) {
	if want != got {
		c.found = append(c.found, Mismatch{c.conversation, c.message, field, want, got})
	}
}

func (c *comparison) compare(want, got core.Message) {
	c.check("role", string(want.Role), string(got.Role))
	c.check("text", want.Text(), got.Text())
	c.check("content", mediaWords(want), mediaWords(got))
	c.check("tool", want.Tool, got.Tool)
	c.check("call id", want.CallID, got.CallID)
	c.check("calls", fmt.Sprint(len(want.Calls)), fmt.Sprint(len(got.Calls)))
	for i := range min(len(want.Calls), len(got.Calls)) {
		w, g := want.Calls[i], got.Calls[i]
		c.check("call id", w.ID, g.ID)
		c.check("tool", w.Name, g.Name)
		c.check("arguments", canonical(w), canonical(g))
	}
}

func canonical(c core.ToolCall) string {
	raw, err := core.Canonical(c.Arguments)
	if err != nil {
		return string(c.Arguments)
	}
	return string(raw)
}

// settled removes placeholders that have been replaced, and sorts the results of each round by
// call.
func settled(log []core.Message) []core.Message {
	replaced := map[string]bool{}
	for _, m := range log {
		if m.Role == core.RoleTool && !m.Pending {
			replaced[m.CallID] = true
		}
	}
	var out, results []core.Message
	var calls []core.ToolCall
	flush := func() {
		out = append(out, inOrder(calls, results)...)
		calls, results = nil, nil
	}
	for _, m := range log {
		switch {
		case m.Role != core.RoleTool:
			flush()
			out, calls = append(out, m), m.Calls
		case !m.Pending || !replaced[m.CallID]:
			results = append(results, m)
		}
	}
	flush()
	return out
}

// inOrder sorts results by their calls; results without a call, and duplicates, come last.
func inOrder(calls []core.ToolCall, results []core.Message) []core.Message {
	rest := append([]core.Message(nil), results...)
	out := make([]core.Message, 0, len(results))
	for _, call := range calls {
		for i, r := range rest {
			if r.CallID == call.ID {
				out = append(out, r)
				rest = append(rest[:i], rest[i+1:]...)
				break
			}
		}
	}
	return append(out, rest...)
}

// UniqueIDs returns the messages with a suffix on every repeated call id, as [core.UniqueCallID]
// adds it in a thread, in calls and results. In each round the first result of an id answers the
// first call with it. The given messages are not changed.
func UniqueIDs(messages []core.Message) []core.Message {
	used := &callid.Used{}
	// of this round: from the written id to the unique ids, in call order
	open := map[string][]string{}
	out := make([]core.Message, len(messages))
	for i, m := range messages {
		switch {
		case m.Role != core.RoleTool:
			open = map[string][]string{}
			m.Calls = uniqueCalls(m.Calls, used, open)
		case len(open[m.CallID]) > 0:
			written := m.CallID
			m.CallID = open[written][0]
			open[written] = open[written][1:]
		}
		out[i] = m
	}
	return out
}

func uniqueCalls(calls []core.ToolCall, used *callid.Used, open map[string][]string) []core.ToolCall {
	if calls == nil {
		return nil
	}
	out := make([]core.ToolCall, len(calls))
	for i, c := range calls {
		written := c.ID
		c.ID = used.Unique(written)
		open[written] = append(open[written], c.ID)
		out[i] = c
	}
	return out
}
