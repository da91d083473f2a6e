package runview

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// Show is a run as callers see it, with what the head and the journal add: what is queued behind
// it, its output, and the calls that wait.
func (v *Viewer) Show(ctx context.Context, p journal.Place) (wire.Run, error) {
	run := RunOf(p.Record)
	run.Queued = queued(p)
	waitsForModel(&run, p)
	looksNext(&run, p)
	shown, err := v.View(ctx, p)
	if err != nil {
		return run, err
	}
	run.StartedBy, run.FirstLine, run.ClientToolNames = shown.startedBy, shown.firstLine, shown.supplied
	run.Pending = append(run.Pending, shown.calls...)
	run.Output, err = v.output(ctx, p)
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

// looksNext says when the run turns to its remote agent again.
func looksNext(run *wire.Run, p journal.Place) {
	if p.Current && run.Remote != nil && p.Record.Status == core.RunRunning && p.Head.Lease == 0 && p.Head.NotBefore != 0 {
		next := wire.Millis(p.Head.NotBefore)
		run.Remote.NextLookAt = &next
	}
}

// remoteTask is the task of a remote agent as callers see it. The token of its notifications is
// left out.
func remoteTask(w peer.Work) *wire.RemoteTask {
	shown := &wire.RemoteTask{Tool: w.Tool, TaskID: w.ID, ContextID: w.Context, URL: w.Endpoint, StopAttempts: w.Stops}
	if w.Silent != 0 && !w.Over {
		since := wire.Millis(w.Silent)
		shown.UnansweredSince = &since
	}
	return shown
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
	if r.Priced {
		run.Cost = &wire.Cost{USD: core.USD(r.Cost).String()}
	}
	if r.Parent != nil {
		run.Parent = &wire.ParentRun{RunID: r.Parent.Run, ThreadID: r.Parent.Thread, CallID: r.Parent.Call}
	}
	if r.Children > 0 {
		run.Usage.Total = TotalOf(r.Tree())
	}
	if r.Peer != nil {
		run.Remote = remoteTask(*r.Peer)
	}
	if r.RetryOf != "" {
		run.RetryOf = &r.RetryOf
	}
	if r.Status == core.RunDone {
		ended(&run, r)
	}
	return run
}

// TotalOf is the usage of several runs as callers see it.
func TotalOf(u core.TreeUsage) *wire.TreeUsage {
	total := &wire.TreeUsage{Runs: u.Runs, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens}
	if !u.Unpriced {
		total.Cost = &wire.Cost{USD: core.USD(u.Cost).String()}
	}
	return total
}

// Begun is a run that was just stored. Nothing of it is in the journal yet.
func Begun(head core.Head) wire.Run {
	run := RunOf(head.Record())
	start := head.Inbox[core.KeyStart]
	run.StartedBy = actor(start.By, start.Via)
	run.FirstLine = firstLine(journal.Place{Head: head, Record: head.Record()}, nil)
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
func (v *Viewer) output(ctx context.Context, p journal.Place) (json.RawMessage, error) {
	if p.Record.Status != core.RunDone {
		return nil, nil
	}
	return v.OutputAtEnd(ctx, p)
}

// OutputAtEnd is the output of a run whose end is committed.
func (v *Viewer) OutputAtEnd(ctx context.Context, p journal.Place) (json.RawMessage, error) {
	r := p.Record
	if r.End == nil || r.End.Kind != core.NaturalEnd || r.Round <= r.Seq0 || r.Round > r.Seq {
		return nil, nil
	}
	if r.Finish != "" {
		return v.finished(ctx, p)
	}
	s, err := v.journal.Segment(ctx, p, r.Round)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(s.Messages) {
		if value := m.ResultValue(); m.Role == core.RoleAssistant && value != nil {
			return value, nil // of a remote agent
		}
		if m.Role == core.RoleAssistant {
			return core.Encode(m.Text()), nil
		}
	}
	return nil, nil
}

// finished is the output in the arguments of the call that ended the run. That call is in the last
// turn, or in an earlier one if the run continued while another call waited.
func (v *Viewer) finished(ctx context.Context, p journal.Place) (output json.RawMessage, err error) {
	for _, from := range []int64{p.Record.Round, p.Record.Seq0 + 1} {
		found := false
		err := v.journal.Journal(ctx, p, from, func(s core.Segment) bool {
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
