package recording

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// FromThread converts a thread, as the API returns it with the bytes of its images and documents,
// to a conversation as of the end of one of its runs: all messages up to there, in the order in
// which they are sent to the model. Results are those that the model saw: a denied call has the
// denial as its result, and an edited call has the model's arguments and the result of the edited
// ones. The recording omits what a provider encrypted, whether a result is a failure, and that an
// answer was cut off: its calls are there with what was said about them.
//
// It returns an error if the format cannot express the thread, for example if the model spoke twice
// in a row.
func FromThread(thread, run, system string, messages []wire.Message) (Conversation, error) {
	end := 0
	for i, m := range messages {
		if m.RunID == run {
			end = i + 1
		}
	}
	if end == 0 {
		return Conversation{}, fmt.Errorf("the run %s has no message that could be recorded", run)
	}
	log := make([]core.Message, end)
	for i, m := range messages[:end] {
		log[i] = MessageOf(m)
	}
	c := Conversation{ID: thread, Run: run, System: system, Messages: core.TranscriptOf(log)}
	return c, c.check()
}

// check reads back what would be written.
func (c Conversation) check() error {
	line := bytes.NewBuffer(nil)
	if err := Write(line, []Conversation{c}); err != nil {
		return err
	}
	_, err := parseLine(line.Bytes(), 1)
	if err != nil {
		err = fmt.Errorf("the thread %s cannot be recorded: %w", c.ID, err)
	}
	if line.Len() > MaxLine {
		err = errors.Join(err, fmt.Errorf("the thread %s cannot be recorded: it is longer than %d MB", c.ID, MaxLine>>20))
	}
	return err
}

// MessageOf converts a message of the API. If the bytes of an image or a document are missing, they
// are also missing in the result.
func MessageOf(m wire.Message) core.Message {
	out := core.Message{Role: core.Role(m.Role), Parts: core.TextParts(m.Text), CallID: m.CallID, Tool: m.Tool, Error: m.Error,
		RanWith: m.RanWith, Added: m.Added, Pending: m.Pending, RunID: m.RunID}
	if m.Parts != nil {
		out.Parts = nil
	}
	for _, p := range m.Parts {
		out.Parts = append(out.Parts, core.Part{Type: p.Type, Text: p.Text, Media: p.MediaType, Name: p.Name, Data: p.Data})
	}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, core.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}
