package recording

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Write writes conversations in the form of [Read], one per line. Reading them back gives the same
// conversations.
func Write(w io.Writer, conversations []Conversation) error {
	out := bufio.NewWriter(w)
	for _, c := range conversations {
		if _, err := out.Write(append(core.Encode(c.file()), '\n')); err != nil {
			return fmt.Errorf("recording: writing %s: %w", c.ID, err)
		}
	}
	return out.Flush()
}

func (c Conversation) file() fileLine {
	line := fileLine{ID: c.ID, Run: c.Run, Messages: []fileMessage{}}
	if c.System != "" {
		line.Messages = append(line.Messages, fileMessage{Role: "system", Content: core.Encode(c.System)})
	}
	messages := c.Messages
	if c.written != nil {
		messages = c.written
	}
	for _, m := range messages {
		line.Messages = append(line.Messages, fileOf(m))
	}
	return line
}

func fileOf(m core.Message) fileMessage {
	out := fileMessage{Role: string(m.Role), Content: contentOf(m), Reasoning: core.ReasoningOf(m.Parts), Name: m.Tool}
	if m.Role == core.RoleTool {
		out.ToolCallID = &m.CallID
	}
	for _, c := range m.Calls {
		out.ToolCalls = append(out.ToolCalls, fileCall{
			ID: c.ID, Type: "function", Function: fileFunction{Name: c.Name, Arguments: argumentsText(c.Arguments)},
		})
	}
	return out
}

// argumentsText reverses [readArguments]: a JSON string whose content is not JSON was a text that
// is not JSON.
func argumentsText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && !core.IsNull(raw) && string(readArguments(text)) == string(raw) {
		return text
	}
	return string(raw)
}
