package runview

import (
	"bytes"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
	"github.com/dormouse-dev/dormouse/internal/text/title"
)

// PendingOf is a waiting call as callers see it.
func PendingOf(w journal.WaitingCall) wire.Pending {
	p := wire.Pending{CallID: w.CallID, ToolName: w.ToolName, Tool: w.ToolName, Arguments: ShownJSON(w.Pending.Arguments), Kind: w.Kind.String(),
		Suspension: wire.Suspension{ID: w.Suspension.ID, Action: w.Suspension.Action, Message: w.Suspension.Message,
			ResponseSchema: shownSchema(w.Suspension.ResponseSchema)},
		ResumeMode: w.Mode().String(), Since: wire.Millis(w.Since), Grantable: w.Grantable, NotBy: w.NotBy, Approvers: w.Approvers, Follows: w.Follows, Warnings: warningsOf(w.Pending.Arguments)}
	if preview := w.SuspendTicket.Preview; preview != nil {
		p.Preview = &wire.Preview{Text: preview.Text, Failed: preview.Failed, Tool: preview.Tool}
	}
	if !bytes.Equal(w.Arguments, w.Pending.Arguments) {
		p.Asked = ShownJSON(w.Arguments)
	}
	if w.Grantable {
		p.GrantScope = grantScope(w.ToolName)
	}
	if w.Deadline != 0 {
		deadline := wire.Millis(w.Deadline)
		p.Deadline = &deadline
	}
	return p
}

// grantScope says what an approver allows with [core.GrantRun].
func grantScope(tool string) string {
	return "Also approves every later call of " + tool + " that the same rule asks about, with any arguments, until the run waits again, ends or gets a message, or another call gets an answer."
}

// titleOf fills in the title of a question that yes or no answers.
func titleOf(p wire.Pending, of []wire.TitlePart) (parts []wire.TitlePart) {
	if p.Kind != core.KindApproval.String() || p.ResumeMode == core.UseDecisionAsToolResult.String() {
		return nil
	}
	empty := make([]title.Part, 0, len(of))
	for _, part := range of {
		empty = append(empty, title.Part(part))
	}
	for _, part := range title.Fill(empty, p.Arguments) {
		parts = append(parts, wire.TitlePart(part))
	}
	return parts
}

// mostWarnings bounds what is said of one call. A reader who is warned twenty times looks at all of
// it.
const mostWarnings = 20

// warningsOf are what a reader of arguments may miss.
func warningsOf(arguments []byte) (warnings []wire.Warning) {
	for _, f := range printable.Warnings(arguments, mostWarnings) {
		warnings = append(warnings, wire.Warning{Path: f.Path, Code: f.Code, Text: f.Text})
	}
	return warnings
}

// ShownJSON is JSON of the journal for readers. What an earlier program let through may be nested
// deeper than they can read: of that they are shown the beginning as text.
func ShownJSON(raw json.RawMessage) json.RawMessage {
	if !depth.Exceeded(raw) {
		return raw
	}
	const most = 2 << 10
	return core.Encode(core.CutResult(string(raw), most))
}

// shownSchema leaves out a schema that readers cannot take.
func shownSchema(raw json.RawMessage) json.RawMessage {
	if depth.Exceeded(raw) {
		return nil
	}
	return raw
}

// WeighPending is about how many bytes a waiting call has in an answer.
func WeighPending(p wire.Pending) int {
	weight := len(p.Arguments) + len(p.Suspension.ResponseSchema) + len(p.Said)
	for _, r := range p.Requests {
		weight += len(r.Text)
	}
	if p.Preview != nil {
		weight += len(p.Preview.Text) + len(p.Preview.Failed)
	}
	return weight
}
