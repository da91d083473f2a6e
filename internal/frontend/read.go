package frontend

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// Run reads a run, consistently.
func (f *Frontend) Run(ctx context.Context, c Caller, id string) (wire.Run, error) {
	p, err := f.Find(ctx, c.Tenant, id)
	if err != nil {
		return wire.Run{}, err
	}
	return f.Show(ctx, p)
}

// AwaitRun returns a run once it is suspended or done, or after wait, whichever comes first.
func (f *Frontend) AwaitRun(ctx context.Context, c Caller, id string, wait time.Duration) (wire.Run, error) {
	var p journal.Place
	thread, _ := core.ThreadOf(id)
	err := f.Held.Until(ctx, c.Tenant, thread, wait, false, func() (bool, error) {
		var err error
		p, err = f.Find(ctx, c.Tenant, id)
		return p.Record.Status == core.RunWaiting || p.Record.Status == core.RunDone, err
	})
	if err != nil {
		return wire.Run{}, err
	}
	return f.Show(ctx, p)
}

// Show is a run as callers see it, with what the head and the journal add: what is queued behind
// it, its output, and the calls that wait.
func (f *Frontend) Show(ctx context.Context, p journal.Place) (wire.Run, error) {
	run := RunOf(p.Record)
	run.Queued = queued(p)
	waitsForModel(&run, p)
	shown, err := f.View(ctx, p)
	if err != nil {
		return run, err
	}
	run.StartedBy, run.FirstLine = shown.startedBy, shown.firstLine
	run.Pending = append(run.Pending, shown.calls...)
	run.Output, err = f.output(ctx, p)
	return run, err
}

// waitsForModel says that the run cannot go on because its model does not answer.
func waitsForModel(run *wire.Run, p journal.Place) {
	outage := p.Head.Outage
	if !p.Current || outage == nil || p.Record.Status != core.RunRunning {
		return
	}
	since := wire.Millis(outage.Since)
	run.WaitingOn, run.WaitingSince, run.Code, run.Detail = "model", &since, outage.Code, outage.Detail
	if p.Head.Lease == 0 {
		next := wire.Millis(p.Head.NotBefore)
		run.NextAttemptAt = &next
	}
}

// queued is how many messages wait for the end of the run: those it has taken up as such, and those
// it has not seen yet.
func queued(p journal.Place) int {
	if !p.Current {
		return 0
	}
	n := len(p.Head.Held)
	for _, signal := range p.Head.Inbox {
		if signal.On == core.PendingQueue {
			n++
		}
	}
	return n
}

// RunOf is a run as callers see it, without what waits.
func RunOf(r core.Record) wire.Run {
	run := wire.Run{ID: r.Run, ThreadID: r.Thread, Agent: r.Agent, AgentVersion: r.Version, Status: r.Status.String(),
		Work: wire.Work{Steps: r.Step, Activations: r.Activations, Resumes: r.Resumes,
			Usage: wire.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens}},
		Metadata: r.Metadata, Pending: []wire.Pending{}, Cursor: journal.EndOf(r), CreatedAt: wire.Millis(r.Born), UpdatedAt: wire.Millis(r.At)}
	if r.RetryOf != "" {
		run.RetryOf = &r.RetryOf
	}
	if r.Status == core.RunDone {
		ended(&run, r)
	}
	return run
}

// ended adds what is known of a run once it is done.
func ended(run *wire.Run, r core.Record) {
	if r.Response != "" {
		state := string(r.Response)
		run.ResponseState = &state
	}
	if r.End == nil {
		return
	}
	reason := r.End.Kind.String()
	run.Reason = &reason
	if r.End.Kind == core.Failed {
		run.Error = &wire.RunError{Code: r.End.Code, Detail: r.End.Detail}
		return
	}
	run.Code, run.Detail = r.End.Code, r.End.Detail
	if r.End.Kind == core.Cancelled {
		run.CancelledBy = actor(r.End.By, r.End.Via)
	}
}

// output is what a run that came to its natural end leaves: the value it finished with, or the text
// of its last assistant turn. Nil if there is none.
func (f *Frontend) output(ctx context.Context, p journal.Place) (json.RawMessage, error) {
	if p.Record.Status != core.RunDone {
		return nil, nil
	}
	return f.OutputAtEnd(ctx, p)
}

// OutputAtEnd is the output of a run whose end is committed.
func (f *Frontend) OutputAtEnd(ctx context.Context, p journal.Place) (json.RawMessage, error) {
	r := p.Record
	if r.End == nil || r.End.Kind != core.NaturalEnd || r.Round <= r.Seq0 || r.Round > r.Seq {
		return nil, nil
	}
	if r.Finish != "" {
		return f.finished(ctx, p)
	}
	s, err := f.Segment(ctx, p, r.Round)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(s.Messages) {
		if m.Role == core.RoleAssistant {
			return core.Encode(m.Text()), nil
		}
	}
	return nil, nil
}

// finished is the output in the arguments of the call that ended the run. That call is in the last
// turn, or in an earlier one if the run continued while another call waited.
func (f *Frontend) finished(ctx context.Context, p journal.Place) (output json.RawMessage, err error) {
	for _, from := range []int64{p.Record.Round, p.Record.Seq0 + 1} {
		found := false
		err := f.Journal(ctx, p, from, func(s core.Segment) bool {
			output, found = finishIn(s, p.Record.Finish)
			return !found
		})
		if found || err != nil {
			return output, err
		}
	}
	return nil, nil
}

func finishIn(s core.Segment, id string) (output json.RawMessage, found bool) {
	for _, m := range s.Messages {
		for _, call := range m.Calls {
			if call.ID == id {
				var arguments struct {
					Output json.RawMessage `json:"output"`
				}
				// it ran, so it could be read
				_ = json.Unmarshal(call.Arguments, &arguments)
				return arguments.Output, true
			}
		}
	}
	return nil, false
}

// PendingOf is a waiting call as callers see it.
func PendingOf(w journal.WaitingCall) wire.Pending {
	p := wire.Pending{CallID: w.CallID, ToolName: w.ToolName, Tool: w.ToolName, Arguments: ShownJSON(w.Pending.Arguments), Kind: w.Kind.String(),
		Suspension: wire.Suspension{ID: w.Suspension.ID, Action: w.Suspension.Action, Message: w.Suspension.Message,
			ResponseSchema: shownSchema(w.Suspension.ResponseSchema)},
		ResumeMode: w.ResumeMode.String(), Since: wire.Millis(w.Since), Grantable: w.Grantable, NotBy: w.NotBy, Approvers: w.Approvers, Warnings: warningsOf(w.Pending.Arguments)}
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

// Limit is what a caller asked for, within bounds; zero is the usual size.
func Limit(asked, usual, most int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}

// ShownJSON is JSON of the journal for readers. What an earlier program let through may be nested
// deeper than they can read: of that they are shown the beginning as text.
func ShownJSON(raw json.RawMessage) json.RawMessage {
	if !core.TooDeep(raw) {
		return raw
	}
	const most = 2 << 10
	return core.Encode(core.CutResult(string(raw), most))
}

// shownSchema leaves out a schema that readers cannot take.
func shownSchema(raw json.RawMessage) json.RawMessage {
	if core.TooDeep(raw) {
		return nil
	}
	return raw
}
