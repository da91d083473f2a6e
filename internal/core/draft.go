package core

import (
	"encoding/json"
	"fmt"
)

// draft is the next commit while it is being put together: a copy of the head and the segment that goes with it.
type draft struct {
	v     View
	h     Head
	round Round
	seg   Segment

	state    State
	revision Revision // of state

	drained []string
	must    bool              // must be durable before any body runs
	closes  bool              // a signal that is acceptable now is not after this commit
	cleared map[string]bool   // calls whose bodies may run
	took    map[int]bool      // answers of hooks that are folded in
	faults  map[string]string // what is wrong with the arguments of the turn's calls, by call
	spans   map[string]span   // when the bodies ran whose outcomes are folded in, by call
	begun   map[string]bool   // calls whose hooks before the body are folded in
	stopped map[string]bool   // calls whose bodies were stopped because the run ends
	closing bool              // the end of the run closes what is open
	over    *Reason           // why the run ends as soon as what is at hand is folded in
}

func newDraft(v View) *draft {
	d := &draft{v: v, h: v.Head.Clone(), state: v.State, revision: v.Revision, cleared: map[string]bool{}, took: map[int]bool{}, faults: map[string]string{}, spans: map[string]span{},
		begun: map[string]bool{}, stopped: map[string]bool{},
		round: Round{Decisions: cloneMap(v.Round.Decisions), Scratch: cloneMap(v.Round.Scratch), LateWords: v.Round.LateWords}}
	d.h.upgrade()
	for _, call := range v.Round.Calls {
		if _, tracked := d.h.Calls[call.ID]; tracked || call.Name != "" { // a pseudo-call that is settled is forgotten
			d.round.Calls = append(d.round.Calls, call)
		}
	}
	return d
}

func (d *draft) dirty() bool {
	return d.must || len(d.seg.Messages) > 0 || len(d.seg.Events) > 0 || len(d.drained) > 0
}

// seq is the number that the segment of this commit will have.
func (d *draft) seq() int64 { return d.v.Head.Seq + 1 }

// commit closes the draft as a write that keeps the claim.
func (d *draft) commit() Plan {
	return d.write(Commit{})
}

// write stamps the draft.
func (d *draft) write(c Commit) *Commit {
	d.rememberOrphans()
	w := NewStamp(d.h.Epoch, d.v.Put)
	if len(d.seg.Messages) > 0 || len(d.seg.Events) > 0 {
		d.seg.Seq, d.seg.W, d.seg.Prev = d.seq(), w, d.h.Seg
		d.h.Seq, d.h.Seg = d.seg.Seq, w
		c.Segment = &d.seg
	}
	d.h.Rev++
	d.h.CID = w
	d.h.Schema = SchemaVersion
	d.h.Tries, d.h.Kept = 0, d.h.Lease != 0
	d.h.At = d.v.Now
	d.h.Pending, d.h.Oldest = d.waiting()
	d.h.Deadline = d.deadline()
	c.Head, c.Drained, c.State, c.Revision, c.Round, c.Fired = d.h, d.drained, d.state, d.revision, d.round, d.untaken()
	c.AllSeen = c.AllSeen || d.closes
	return &c
}

// rememberOrphans marks the calls whose bodies a lost owner may have begun, before a commit makes the run this owner's: their bodies may be
// run by another one still.
//
//	owner 1: body ──✗ lost     owner 2: interrupt ── commit, waits     owner 3: body, and is told
func (d *draft) rememberOrphans() {
	if !d.v.Orphaned {
		return
	}
	for id, before := range d.v.Head.Calls {
		if now, there := d.h.Calls[id]; there && before.runnable() && now.runnable() {
			d.change(id, func(c *Call) { c.Again = true })
		}
	}
}

// runnable says whether the next thing that happens to the call may be its body.
func (c Call) runnable() bool {
	return c.Status == CallNew || c.Status == CallRunning || c.Status == CallResuming
}

// waiting counts the suspended calls a message does not answer, and keeps the key under which the run is listed for approval.
func (d *draft) waiting() (count int, key string) {
	suspended := false
	for _, c := range d.h.Calls {
		if c.Status != CallSuspended {
			continue
		}
		suspended = true
		if c.Kind != KindInput && c.Kind != KindInterrupt {
			count++
		}
	}
	switch {
	case !suspended:
		return 0, ""
	case d.h.Oldest != "":
		return count, d.h.Oldest
	}
	return count, fmt.Sprintf("%013d#%s", d.v.Now, d.h.Run)
}

// event adds an event; message is the index from 1 of the message whose content belongs to it, 0 for none.
func (d *draft) event(t EventType, data any, message int) {
	d.h.Ev++
	e := Event{Seq: d.h.Ev, RunID: d.h.Run, ThreadID: d.h.Thread, Turn: d.h.Turn, Step: d.h.Step, At: d.v.Now, Type: t, Message: message}
	if data != nil {
		e.Data = Encode(data)
	}
	d.seg.Events = append(d.seg.Events, e)
}

// message adds a message and returns its index from 1. What the model has not seen it has not been told.
func (d *draft) message(m Message) int {
	m.RunID, m.At = d.h.Run, d.v.Now
	if m.Role == RoleUser || m.Role == RoleTool && !m.Pending {
		d.h.Told = false
	}
	d.h.Spoken = d.h.Spoken || m.Role == RoleUser && !m.inResult()
	d.seg.Messages = append(d.seg.Messages, m)
	return len(d.seg.Messages)
}

// change edits what the head knows of a call, but for its status, which is [draft.move]'s.
func (d *draft) change(id string, edit func(*Call)) {
	c := d.h.Calls[id]
	edit(&c)
	d.h.Calls[id] = c
}

// span is when a body ran.
type span struct{ began, ended int64 }

// move changes a call's status by the table, and lets go of what was held behind it once it is settled.
func (d *draft) move(id string, next CallStatus) error {
	c, ok := d.h.Calls[id]
	if !ok {
		return fmt.Errorf("core: call %q is not in this round", id)
	}
	to, err := c.Status.To(next)
	if err != nil {
		return err
	}
	c.Status = to
	if to.Terminal() {
		c.Intent = 0
		c.Hold = ""
	}
	d.h.Calls[id] = c
	if !to.Terminal() {
		return nil
	}
	for other, o := range d.h.Calls {
		if o.Hold == id {
			o.Hold = ""
			d.h.Calls[other] = o
		}
	}
	return nil
}

// callState is the record of a call that events carry. Arguments and results are joined from messages, not repeated here.
func (d *draft) callState(call ToolCall) CallState {
	return CallState{CallID: call.ID, ToolName: call.Name, Status: d.h.Calls[call.ID].Status, UpdatedAt: d.v.Now}
}

// started is the data of a call.started event. Without a time, the body begins once the event is committed.
type started struct {
	CallState
	StartedAt int64 `json:"started_at,omitempty"`
}

// begin marks a call as running.
func (d *draft) begin(call ToolCall) error {
	if d.h.Calls[call.ID].Status == CallRunning {
		return nil
	}
	if err := d.move(call.ID, CallRunning); err != nil {
		return err
	}
	started := started{CallState: d.callState(call), StartedAt: d.spans[call.ID].began}
	if d.h.Calls[call.ID].Edited != "" {
		started.Arguments = d.effective(call).Arguments
	}
	d.event(EventCallStarted, started, 0)
	return nil
}

// settled is the event that tells of each terminal status.
var settled = map[CallStatus]EventType{CallSucceeded: EventCallSucceeded, CallFailed: EventCallFailed, CallCancelled: EventCallCancelled}

// settleCall closes a call. result holds what the model will see. No model asked for a pseudo-call, so none sees its result, and the
// head forgets it.
func (d *draft) settleCall(call ToolCall, status CallStatus, how CallOutcome, result Message) error {
	if d.h.Calls[call.ID].Status != CallRunning {
		d.must = true // a verdict on the state as it is now: no later body may change it
	}
	before := d.h.Calls[call.ID]
	if err := d.move(call.ID, status); err != nil {
		return err
	}
	data := d.ended(call, before)
	if before.Pseudo {
		data.Outcome = how
		d.event(settled[status], data, 0)
		delete(d.h.Calls, call.ID)
		return nil
	}
	failed := status != CallSucceeded
	result.Role, result.CallID, result.Tool, result.Error, result.Outcome = RoleTool, call.ID, call.Name, failed, how.stored(failed)
	d.event(settled[status], data, d.message(result))
	return nil
}

// ended is what the end of a call says of its times. before is the call as it was.
func (d *draft) ended(call ToolCall, before Call) ended {
	e := ended{CallState: d.callState(call), Attempts: before.Ran}
	if s, ran := d.spans[call.ID]; ran {
		e.StartedAt = s.began
		if s.ended != d.v.Now {
			e.EndedAt = max(s.began, s.ended)
		}
		e.Attempts++
		if before.Again || d.v.Orphaned && before.Intent == 0 {
			e.Attempts++ // a crashed worker may have begun it
		}
	}
	e.MayHaveRun = e.Status == CallCancelled && d.mayHaveRun(call, before)
	return e
}

// openTurn notes that the run is on its way again, and why.
func (d *draft) openTurn(cause TurnCause) {
	if d.h.TurnOpen {
		return
	}
	d.h.Turn++
	d.h.TurnOpen = true
	d.endGrantsOfTurn() // those of an older program outlived the wait
	if d.h.AwakeSince == 0 {
		d.h.AwakeSince = d.v.Now
	}
	d.event(EventRunStatus, d.runState(RunRunning, nil), 0)
	d.event(EventTurnStarted, turnStarted{cause}, 0)
}

func (d *draft) runState(s RunStatus, r *Reason) RunState {
	state := RunState{ID: d.h.Run, Status: s, UpdatedAt: d.v.Now}
	if r != nil {
		word := r.Kind.String()
		state.DoneReason = &word
	}
	return state
}

// resultText is a JSON value as a tool result: a string is its own text, anything else its JSON.
func resultText(raw json.RawMessage) string {
	if IsNull(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(jsonTrim(raw))
}
