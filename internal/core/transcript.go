package core

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NoResult is what the model sees for a call that has no result although the conversation went on.
const NoResult = "No result was recorded for this call."

// Transcript is what a model is sent of a conversation: in the order of the log, but each call's
// one result directly behind the turn that asked for it, in call order. A placeholder is left out
// once the result is there. Messages that came while calls were open follow the results. Of a
// message that answers a call the model sees the text as that call's result, and images and
// documents behind it.
func Transcript(log []Message) []Message {
	results := make(map[string]Message)
	for _, m := range log {
		if m.Role != RoleTool {
			continue
		}
		if old, ok := results[m.CallID]; !ok || old.Pending {
			results[m.CallID] = m
		}
	}
	out := make([]Message, 0, len(log))
	for _, m := range log {
		if m.Role == RoleTool || m.InResult() {
			continue
		}
		if m.Answers != "" {
			m.Parts = media(m.Parts)
		}
		out = append(out, m)
		for _, c := range m.Calls {
			r, ok := results[c.ID]
			if !ok {
				r = Message{Role: RoleTool, CallID: c.ID, Tool: c.Name, Error: true, Parts: TextParts(NoResult), RunID: m.RunID, At: m.At}
			}
			out = append(out, r.forModel())
		}
	}
	return out
}

// InResult says whether all of a user message is the result of the call that it answers.
func (m Message) InResult() bool { return m.Answers != "" && len(media(m.Parts)) == 0 }

// media are the parts of a message that are not text.
func media(parts []Part) []Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Type == PartText })
}

// UniqueCallID returns id, or, if it is used, id with the next free suffix _2, _3, ..., and marks
// what it returns as used. Models repeat ids; inside a thread every call has its own. An id is a
// key of the head and goes back to the model with its result: what is longer than any model's is
// cut, and what is no UTF-8 replaced.
func UniqueCallID(used map[string]bool, id string) string {
	if id = ClipBytes(strings.ToValidUTF8(id, "\ufffd"), longestCallID); id == "" {
		id = "call"
	}
	unique := id
	for n := 2; used[unique]; n++ {
		unique = id + "_" + strconv.Itoa(n)
	}
	used[unique] = true
	return unique
}

// longestCallID leaves room for a suffix in the 64 bytes that the strictest of the providers takes.
const longestCallID = 60

// ClipBytes cuts text to at most so many bytes, not within a character.
func ClipBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// UsedCallIDs are the ids of all calls in a conversation.
func UsedCallIDs(log []Message) map[string]bool {
	used := make(map[string]bool)
	for _, m := range log {
		for _, c := range m.Calls {
			used[c.ID] = true
		}
	}
	return used
}

// Messages are the messages of consecutive segments, in order.
func Messages(segments []Segment) []Message {
	var out []Message
	for _, s := range segments {
		out = append(out, s.Messages...)
	}
	return out
}
