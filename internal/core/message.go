package core

import (
	"encoding/json"
	"fmt"
	"strings"
)

// AnswerOf returns the text of a message as the JSON result of the call it answers. Images and
// documents follow in a separate message.
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
