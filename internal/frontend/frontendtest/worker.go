// Package frontendtest brings runs into the states that tests of callers' requests need: it plays
// the worker with its own claims and commits, without the planner. It is for tests and checks
// nothing.
package frontendtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Worker commits to runs of one tenant.
type Worker struct {
	Test   testing.TB
	Store  engine.Store
	Clock  engine.Clock
	Random engine.Random
	Tenant string
	Who    bool // journal who started runs and who said what, as the engine does
}

// Call is a call the model asks for, and how it waits.
type Call struct {
	ID, Tool  string
	Kind      core.Kind
	Mode      core.ResumeMode
	Schema    json.RawMessage
	Deadline  int64
	Arguments json.RawMessage // an order if nil
	Shown     json.RawMessage // the arguments it would run with, if they are not the model's
	NotBy     string
	Approvers []string
	Message   string // the reason it waits for; one if it is empty
	Preview   *core.Preview
	Said      string // the model's words in the turn that asks for it
	Policy    *vote.Policy
	Stage     int
	Spent     []string // keys of people who have approved another stage
	Agent     string   // whose run works for the call; its kind is then [core.KindChild]
}

// asked is the call as the model asks for it.
func (c Call) asked() core.ToolCall {
	asked := core.ToolCall{ID: c.ID, Name: c.Tool, Arguments: c.Arguments}
	if asked.Arguments == nil {
		asked.Arguments = json.RawMessage(`{"order":"A-17"}`)
	}
	return asked
}

// commit is one write in the making.
type commit struct {
	head core.Head
	seg  core.Segment
	now  int64

	votes map[string]vote.Tally // see [engine.CommitRequest]
}

func (c *commit) event(t core.EventType, data any) {
	c.head.Ev++
	e := core.Event{Seq: c.head.Ev, RunID: c.head.Run, ThreadID: c.head.Thread, Turn: 1, At: c.now, Type: t}
	if data != nil {
		e.Data = core.Encode(data)
	}
	c.seg.Events = append(c.seg.Events, e)
}

func (c *commit) say(m core.Message) {
	m.RunID, m.At = c.head.Run, c.now
	c.seg.Messages = append(c.seg.Messages, m)
}

// step claims the run, drains its inbox into the journal, lets change say what else happens, and
// gives the run back.
func (w Worker) step(run string, change func(*commit)) core.Head {
	w.Test.Helper()
	ctx := w.Test.Context()
	thread, _ := core.ThreadOf(run)
	now := w.Clock.Now().UnixMilli()
	head, err := w.Store.Claim(ctx, engine.ClaimRequest{Tenant: w.Tenant, Thread: thread, Claim: w.Random.Text(8), Now: now,
		LeaseEnd: now + 1000, Due: now + 60_000, Schema: core.SchemaVersion})
	if err != nil {
		w.Test.Fatalf("claim %s: %v", run, err)
	}
	c := &commit{head: head.Clone(), now: now, votes: map[string]vote.Tally{}}
	stamp := core.NewStamp(head.Epoch, 1)
	c.seg = core.Segment{Seq: head.Seq + 1, W: stamp, Prev: head.Seg}
	drained := w.drain(c)
	change(c)
	c.head.Rev, c.head.CID, c.head.Seq, c.head.Seg, c.head.Tries, c.head.Lease, c.head.At = head.Rev+1, stamp, c.seg.Seq, stamp, 0, 0, now
	count(&c.head, now)
	due := c.head.Deadline
	if c.head.Status == core.RunRunning {
		due = now + pause.RetryDue
	}
	written, err := w.Store.Commit(ctx, engine.CommitRequest{Next: c.head, Segment: &c.seg, Drained: drained, Votes: c.votes, AllSeen: true,
		Seen: head.Sigs, Due: &due})
	if err != nil {
		w.Test.Fatalf("commit %s: %v", run, err)
	}
	return written.Head
}

// drain journals what is in the inbox, an interrupt last; decisions settle their calls.
func (w Worker) drain(c *commit) []string {
	keys := slices.Sorted(maps.Keys(c.head.Inbox))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(btoi(a == core.KeyPause), btoi(b == core.KeyPause)) })
	for _, key := range keys {
		w.drainOne(c, key, c.head.Inbox[key])
	}
	return keys
}

func (w Worker) drainOne(c *commit, key string, s core.Signal) {
	value := []byte(s.Value)
	if s.Ref != "" {
		var err error
		if value, err = w.Store.Payload(w.Test.Context(), c.head.Tenant, c.head.Thread, s.Ref); err != nil {
			w.Test.Fatalf("payload of %s: %v", key, err)
		}
	}
	switch s.Kind {
	case core.SignalStart, core.SignalMessage:
		var parts []core.Part
		w.read(value, &parts)
		if s.Kind == core.SignalStart && w.Who {
			c.event(core.EventRunStarted, who(s))
		}
		c.hear(key, s, parts)
		if len(parts) > 0 && s.On != core.PendingQueue && w.Who {
			c.event(core.EventMessageReceived, who(s))
			c.seg.Events[len(c.seg.Events)-1].Message = len(c.seg.Messages)
			if c.head.LastUserMessage != c.seg.Seq {
				c.seg.Messages[len(c.seg.Messages)-1].Earlier = c.head.LastUserMessage
			}
			c.head.LastUserMessage = c.seg.Seq
		}
	case core.SignalPause:
		w.suspend(c, Call{ID: "interrupt:" + w.Random.Text(8), Kind: core.KindInterrupt, Arguments: json.RawMessage("{}")})
	case core.SignalLate:
		rec := s.Record(strings.TrimPrefix(key, core.LateKey("")), w.resume(value))
		rec.Late = true
		delete(c.head.TimedOut, rec.Suspension)
		c.event(core.EventDecisionRecorded, rec)
		c.say(core.Message{Role: core.RoleSystem, Parts: core.TextParts("an answer came late")})
	case core.SignalWithdrawn:
		drainWithdrawn(c, s, value)
	case core.SignalVote:
		w.drainVote(c, key, s, w.resume(value))
	case core.SignalDecision:
		rec := s.Record(key, w.resume(value))
		_, cancelled := c.head.Inbox[core.KeyCancel]
		rec.Applied = !cancelled
		c.event(core.EventDecisionRecorded, rec)
		call := c.head.Calls[s.Call]
		call.Status, call.Decision = core.CallSucceeded, rec.DecisionID+" "+rec.Digest
		c.head.Calls[s.Call] = call
	}
}

// hear takes up a message as it asks to be: it is held, or ends what is waited for, or just an
// interrupt.
func (c *commit) hear(key string, s core.Signal, parts []core.Part) {
	on := s.On
	if on == core.PendingQueue {
		c.head.Held = append(c.head.Held, core.Held{Seq: c.seg.Seq, Key: key})
		c.event(core.EventMessageQueued, map[string]any{"key": key, "parts": parts, "by": s.By})
		return
	}
	for id, call := range c.head.Calls {
		if call.Status == core.CallSuspended && (on == core.PendingAbandon || call.Kind == core.KindInterrupt) {
			call.Status = core.CallCancelled
			c.head.Calls[id] = call
		}
	}
	if len(parts) > 0 {
		c.say(core.Message{Role: core.RoleUser, Parts: parts, By: s.By, Via: s.Via})
	}
}

func who(s core.Signal) map[string]string {
	data := map[string]string{"via": s.Via}
	if s.By != "" {
		data["by"] = s.By
	}
	return data
}

func (w Worker) resume(value []byte) (r core.Resume) {
	w.read(value, &r)
	return r
}

func (w Worker) read(value []byte, to any) {
	if err := json.Unmarshal(value, to); err != nil {
		w.Test.Fatalf("a signal's value: %v", err)
	}
}

// count lists the head as the planner does.
func count(h *core.Head, now int64) {
	listed := h.Oldest
	h.Pending, h.Oldest = 0, ""
	for _, call := range h.Calls {
		if call.Status != core.CallSuspended || call.Kind == core.KindChild {
			continue
		}
		h.Oldest = cmp.Or(listed, fmt.Sprintf("%013d#%s", now, h.Run))
		if call.Kind != core.KindInput && call.Kind != core.KindInterrupt {
			h.Pending++
		}
	}
}

// Drain takes up what is in the inbox; the run goes on, or waits if a call still does.
func (w Worker) Drain(run string) core.Head {
	return w.step(run, func(c *commit) { rest(&c.head) })
}

func rest(h *core.Head) {
	h.Status = core.RunRunning
	for _, call := range h.Calls {
		if call.Status == core.CallSuspended {
			h.Status = core.RunWaiting
		}
	}
}

// Ask lets the model request calls that stay open and are not suspended.
func (w Worker) Ask(run string, calls ...Call) core.Head {
	return w.step(run, func(c *commit) {
		c.ask(calls)
		c.head.Status = core.RunRunning
	})
}

func (c *commit) ask(calls []Call) {
	m := core.Message{Role: core.RoleAssistant}
	for _, call := range calls {
		m.Parts = append(m.Parts, core.TextParts(call.Said)...)
		m.Calls = append(m.Calls, call.asked())
		c.head.Calls[call.ID] = core.Call{}
	}
	c.say(m)
	for _, call := range calls {
		if call.Tool != "" { // the run's own waits are asked for by no model
			c.event(core.EventCallReady, map[string]any{"call_id": call.ID})
			c.seg.Events[len(c.seg.Events)-1].Message = len(c.seg.Messages)
		}
	}
	c.head.Round = c.seg.Seq
}

// Suspend lets the model ask for calls, each of which then waits. It returns their suspensions by
// call.
func (w Worker) Suspend(run string, calls ...Call) map[string]string {
	ids := map[string]string{}
	w.step(run, func(c *commit) {
		c.head.Calls = map[string]core.Call{}
		c.ask(calls)
		for _, call := range calls {
			ids[call.ID] = w.suspend(c, call)
		}
		c.head.Status = core.RunWaiting
	})
	return ids
}

// Resuspend lets a call that was asked for wait again.
func (w Worker) Resuspend(run string, call Call) string {
	id := ""
	w.step(run, func(c *commit) {
		id = w.suspend(c, call)
		c.head.Status = core.RunWaiting
	})
	return id
}

func (w Worker) suspend(c *commit, call Call) string {
	id := core.SuspensionID(c.head.Thread, c.seg.Seq, w.Random.Text(8))
	var child *core.Child
	if call.Agent != "" {
		call.Kind, child = core.KindChild, w.startChild(c, id, call)
	}
	known := c.head.Calls[call.ID]
	c.head.Calls[call.ID] = core.Call{Status: core.CallSuspended, Wait: core.Wait{Kind: call.Kind, Mode: call.Mode, Sus: id, Suspensions: known.Suspensions + 1, Deadline: call.Deadline}, Synthetic: call.Tool == ""}
	c.head.Deadline = call.Deadline
	asked := call.asked()
	shown := core.PendingCall(asked)
	if call.Shown != nil {
		shown.Arguments = call.Shown
	}
	waits := core.NewSuspendedCall(asked, call.Kind, core.SuspendTicket{ResumeMode: call.Mode, Preview: call.Preview, Pending: shown, NotBy: call.NotBy, Approvers: call.Approvers, Policy: call.Policy, Stage: call.Stage, Child: child,
		Suspension: core.Suspension{ID: id, Action: "approve", Message: cmp.Or(call.Message, "may it?"), ResponseSchema: call.Schema}})
	waits.Deadline, waits.Grantable = call.Deadline, call.Kind == core.KindApproval && !waits.Counted()
	if waits.Counted() {
		c.votes[id] = vote.Tally{}
		for _, key := range call.Spent {
			c.votes[id][key] = vote.Spent
		}
	}
	c.event(core.EventCallSuspended, waits)
	return id
}

// Down leaves the run to wait for its model until next, in ms.
func (w Worker) Down(run string, why core.Outage, next int64) core.Head {
	w.Test.Helper()
	return w.step(run, func(c *commit) {
		c.head.Status, c.head.Outage, c.head.NotBefore = core.RunRunning, &why, next
		c.event(core.EventStepReset, map[string]any{"reason": "model_unavailable", "code": why.Code, "text": why.Detail, "try": 1, "try_at": next})
	})
}

// TimeOut lets the deadline of a suspended call decide.
func (w Worker) TimeOut(run, id string) core.Head {
	return w.step(run, func(c *commit) {
		call := c.head.Calls[id]
		c.event(core.EventDecisionRecorded, core.DecisionRecord{CallID: id, Suspension: call.Sus, By: "deadline", Applied: true, TimedOut: true,
			Resume: core.Resume{DecisionID: "deadline", Action: core.ActionResume, Error: "no answer arrived"}})
		call.Status = core.CallFailed
		c.head.Calls[id] = call
		c.head.TimedOut[call.Sus] = 1
		c.head.Deadline = 0
		rest(&c.head)
	})
}

// FinishWith ends the run by a call with these arguments.
func (w Worker) FinishWith(run string, arguments json.RawMessage, state core.ResponseState) core.Head {
	return w.FinishBy(run, "fin", state, core.ToolCall{ID: "other", Name: "refund", Arguments: json.RawMessage(`{"output":"not this"}`)},
		core.ToolCall{ID: "fin", Name: core.FinishTool, Arguments: arguments})
}

// FinishBy ends the run by the call with this id, after a last turn that asks for these.
func (w Worker) FinishBy(run, id string, state core.ResponseState, last ...core.ToolCall) core.Head {
	return w.end(run, core.Reason{Kind: core.NaturalEnd}, func(c *commit) {
		c.say(core.Message{Role: core.RoleAssistant, Calls: last})
		c.head.Finish, c.head.Response = id, state
	})
}

// Say adds a message to the conversation, and the run goes on.
func (w Worker) Say(run string, m core.Message) core.Head {
	w.Test.Helper()
	return w.step(run, func(c *commit) { c.say(m) })
}

// Finish ends the run with a last word of the model.
func (w Worker) Finish(run, text string) core.Head {
	return w.End(run, core.Reason{Kind: core.NaturalEnd}, text)
}

// End ends the run; open calls become cancelled.
func (w Worker) End(run string, reason core.Reason, text string) core.Head {
	return w.end(run, reason, func(c *commit) {
		c.say(core.Message{Role: core.RoleAssistant, Parts: core.TextParts(text)})
		c.head.Response = core.ResponseDone
	})
}

// Ending commits the end of a run with a last word of the model, and does not give it up yet.
func (w Worker) Ending(run, text string) core.Head {
	return w.step(run, func(c *commit) {
		c.say(core.Message{Role: core.RoleAssistant, Parts: core.TextParts(text)})
		c.event(core.EventRunEnded, core.Reason{Kind: core.NaturalEnd})
		c.head.Round, c.head.Response, c.head.End = c.seg.Seq, core.ResponseDone, &core.Reason{Kind: core.NaturalEnd}
	})
}

func (w Worker) end(run string, reason core.Reason, last func(*commit)) core.Head {
	return w.step(run, func(c *commit) {
		for id, call := range c.head.Calls {
			if !call.Status.Terminal() {
				call.Status = core.CallCancelled
				c.head.Calls[id] = call
			}
		}
		last(c)
		c.event(core.EventRunStatus, core.RunState{ID: run, Status: core.RunDone, UpdatedAt: c.now})
		c.head.Round, c.head.Status, c.head.End = c.seg.Seq, core.RunDone, &reason
		c.head.TimedOut, c.head.Deadline = map[string]int{}, 0
	})
}
