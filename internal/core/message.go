package core

import (
	"encoding/json"
	"fmt"
	"strings"
)

// AnswerOf is what a message says to a call that waits for input, as a result in JSON: its text.
// Images and documents follow as a message of their own.
func AnswerOf(parts []Part) json.RawMessage {
	text := TextOf(parts)
	if text == "" && len(parts) > 0 {
		text = "The user answered with the content that follows."
	}
	return Encode(text)
}

// MessageID is the message's id in its thread: the one that its sender gave it, or one that follows
// from its place. n counts the messages of the segment from 1.
func (m Message) MessageID(thread string, segment int64, n int) string {
	if m.ID != "" {
		return m.ID
	}
	return fmt.Sprintf("msg_%s_%d_%d", strings.TrimPrefix(thread, "thr_"), segment, n)
}
