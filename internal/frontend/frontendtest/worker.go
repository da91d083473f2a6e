// Package frontendtest puts runs into the states that tests of callers' requests need: it plays the worker's part by claims and
// commits of its own, without the planner. It is for tests and checks nothing.
package frontendtest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Worker commits to runs of one tenant.
type Worker struct {
	Test   testing.TB
	Store  engine.Store
	Clock  engine.Clock
	Random engine.Random
	Tenant string
}

// Call is a call the model asks for, and how it waits.
type Call struct {
	ID, Tool string
	Kind     core.Kind
	Schema   json.RawMessage
}

// commit is one write in the making.
type commit struct {
	head core.Head
	seg  core.Segment
	now  int64
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

// step claims the run, drains its inbox into the journal, lets change say what else happens, and gives the run back.
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
	c := &commit{head: head.Clone(), now: now}
	stamp := core.NewStamp(head.Epoch, 1)
	c.seg = core.Segment{Seq: head.Seq + 1, W: stamp, Prev: head.Seg}
	drained := w.drain(c)
	change(c)
	c.head.Rev, c.head.CID, c.head.Seq, c.head.Seg, c.head.Tries, c.head.Lease = head.Rev+1, stamp, c.seg.Seq, stamp, 0, 0
	count(&c.head)
	due := int64(0)
	written, err := w.Store.Commit(ctx, engine.CommitRequest{Next: c.head, Segment: &c.seg, Drained: drained, AllSeen: true,
		Seen: head.Sigs, Due: &due})
	if err != nil {
		w.Test.Fatalf("commit %s: %v", run, err)
	}
	return written.Head
}

// drain journals what is in the inbox; decisions settle their calls.
func (w Worker) drain(c *commit) []string {
	var keys []string
	for key := range c.head.Inbox {
		keys = append(keys, key)
	}
	slices.Sort(keys)
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
		c.say(core.Message{Role: core.RoleUser, Parts: parts})
	case core.SignalDecision:
		rec := core.DecisionRecord{CallID: s.Call, Suspension: key, Digest: s.Digest, By: s.By, Applied: true}
		w.read(value, &rec.Resume)
		_, cancelled := c.head.Inbox[core.KeyCancel]
		rec.Applied = !cancelled
		c.event(core.EventDecisionRecorded, rec)
		call := c.head.Calls[s.Call]
		call.Status, call.Decision = core.CallSucceeded, rec.DecisionID+" "+rec.Digest
		c.head.Calls[s.Call] = call
	}
}

func (w Worker) read(value []byte, to any) {
	if err := json.Unmarshal(value, to); err != nil {
		w.Test.Fatalf("a signal's value: %v", err)
	}
}

func count(h *core.Head) {
	h.Pending, h.Oldest = 0, ""
	for _, call := range h.Calls {
		if call.Status != core.CallSuspended {
			continue
		}
		h.Oldest = h.Run
		if call.Kind != core.KindInput {
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

// Ask lets the model ask for calls that have no end yet and wait for nobody.
func (w Worker) Ask(run string, calls ...Call) core.Head {
	return w.step(run, func(c *commit) {
		c.ask(calls)
		c.head.Status = core.RunRunning
	})
}

func (c *commit) ask(calls []Call) {
	m := core.Message{Role: core.RoleAssistant}
	for _, call := range calls {
		m.Calls = append(m.Calls, core.ToolCall{ID: call.ID, Name: call.Tool, Arguments: json.RawMessage(`{"order":"A-17"}`)})
		c.head.Calls[call.ID] = core.Call{}
	}
	c.say(m)
	c.head.Round = c.seg.Seq
}

// Suspend lets the model ask for calls, each of which then waits. It returns their suspensions by call.
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
	id := core.SuspensionID(c.seg.Seq, w.Random.Text(8))
	known := c.head.Calls[call.ID]
	c.head.Calls[call.ID] = core.Call{Status: core.CallSuspended, Kind: call.Kind, Sus: id, Times: known.Times + 1}
	ticket := core.SuspendTicket{Suspension: core.Suspension{ID: id, Action: "approve", Message: "may it?", ResponseSchema: call.Schema},
		Pending: core.PendingCall{ID: call.ID, Name: call.Tool, Arguments: json.RawMessage(`{"order":"A-17"}`)}}
	asked := core.ToolCall{ID: call.ID, Name: call.Tool, Arguments: json.RawMessage(`{"order":"A-17"}`)}
	c.event(core.EventCallSuspended, core.NewSuspendedCall(asked, call.Kind, ticket))
	return id
}

// Finish ends the run with a last word of the model.
func (w Worker) Finish(run, text string) core.Head {
	return w.End(run, core.Reason{Kind: core.NaturalEnd}, text)
}

// End ends the run; open calls become cancelled.
func (w Worker) End(run string, reason core.Reason, text string) core.Head {
	return w.step(run, func(c *commit) {
		for id, call := range c.head.Calls {
			if !call.Status.Terminal() {
				call.Status = core.CallCancelled
				c.head.Calls[id] = call
			}
		}
		c.say(core.Message{Role: core.RoleAssistant, Parts: core.TextParts(text)})
		c.event(core.EventRunStatus, core.RunState{ID: run, Status: core.RunDone, UpdatedAt: c.now})
		c.head.Round, c.head.Status, c.head.End, c.head.Response = c.seg.Seq, core.RunDone, &reason, core.ResponseDone
	})
}
