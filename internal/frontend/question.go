package frontend

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// question finds the suspension that a message answers: that of the first call which waits for
// input, if no decision on it is in the inbox; "" if there is none. The message is held to the same
// schema as a decision, and refused with [refusal.CodeSchemaMismatch] before anything is stored.
func (f *Frontend) question(ctx context.Context, head core.Head, b beginning) (sus string, err error) {
	if !b.answers(head) {
		return "", nil
	}
	waiting, err := f.Waiting(ctx, journal.Place{Head: head, Record: head.Record(), Current: true})
	if err != nil {
		return "", err
	}
	for _, w := range waiting {
		if w.Kind == core.KindInput {
			return w.Suspension.ID, checkMessage(w.SuspendedCall, b.parts)
		}
	}
	return "", nil
}

// answers says whether the request is a message that answers a tool's question: it does not say
// that the run shall give up its question, nor that it waits for the run's end. The head alone is
// enough to know, so a message to any other run reads no more.
func (b beginning) answers(head core.Head) bool {
	if !b.refuses() {
		return false
	}
	for _, c := range head.Calls {
		if _, answered := head.Inbox[c.Sus]; c.Status == core.CallSuspended && c.Kind == core.KindInput && !answered {
			return true
		}
	}
	return false
}

// checkMessage holds a message's text against the schema of the question that it would answer.
func checkMessage(call core.SuspendedCall, raw json.RawMessage) error {
	var parts []core.Part
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("frontend: the parts of a message: %w", err)
	}
	err := checkSchema(call, core.Resume{Action: core.ActionResume, Result: core.AnswerOf(parts)})
	if e, ok := err.(*refusal.Error); ok && e.Code == refusal.CodeSchemaMismatch {
		return refusal.New(refusal.CodeSchemaMismatch, "the run waits for an answer to %s, and the text of this message doesn't match its response schema; "+
			"answer with a decision on %s, or set on_pending to abandon or queue", call.Named(), call.Suspension.ID)
	}
	return err
}
