package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/poll"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
)

// draft is the next commit under construction: a copy of the head and the segment that goes with
// it.
type draft struct {
	v     plans.View
	h     core.Head
	round core.Round
	seg   core.Segment

	state    core.State
	revision plans.Revision // of state

	drained []string
	must    bool            // must be durable before any body runs
	closes  bool            // a signal that is acceptable now is not after this commit
	cleared map[string]bool // calls whose bodies may run
	took    map[int]bool    // answers of hooks that are folded in
	// what is wrong with the arguments of the turn's calls, by call
	faults  map[string]string
	spans   map[string]core.Span  // when the bodies ran whose outcomes are folded in, by call
	begun   map[string]bool       // calls whose hooks before the body are folded in
	stopped map[string]bool       // calls whose bodies were stopped because the run ends
	closing bool                  // the end of the run closes what is open
	over    *core.Reason          // why the run ends once the current results are folded in
	opens   map[string]vote.Tally // questions whose votes are counted from this commit on
	heard   map[string]bool       // suspensions of the children whose ends this commit journals
}

func newDraft(v plans.View) *draft {
	d := &draft{v: v, h: v.Head.Clone(), state: v.State, revision: v.Revision, cleared: map[string]bool{}, took: map[int]bool{}, faults: map[string]string{}, spans: map[string]core.Span{},
		begun: map[string]bool{}, stopped: map[string]bool{}, opens: map[string]vote.Tally{}, heard: map[string]bool{},
		round: core.Round{Decisions: core.CloneMap(v.Round.Decisions), Scratch: core.CloneMap(v.Round.Scratch), LateWords: v.Round.LateWords,
			Questions: core.CloneMap(v.Round.Questions)}}
	for _, call := range v.Round.Calls {
		// a pseudo-call that is settled is forgotten
		if _, tracked := d.h.Calls[call.ID]; tracked || call.Name != "" {
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
func (d *draft) commit() plans.Plan {
	return d.write(plans.Commit{})
}

// write stamps the draft.
func (d *draft) write(c plans.Commit) *plans.Commit {
	d.rememberOrphans()
	w := core.NewStamp(d.h.Epoch, d.v.Put)
	if len(d.seg.Messages) > 0 || len(d.seg.Events) > 0 {
		d.seg.Seq, d.seg.W, d.seg.Prev = d.seq(), w, d.h.Seg
		d.h.Seq, d.h.Seg = d.seg.Seq, w
		c.Segment = &d.seg
	}
	d.h.Rev++
	d.h.CID = w
	d.h.Schema = core.SchemaOf(d.h)
	d.h.Tries, d.h.ClaimKept = 0, d.h.Lease != 0
	d.h.At = d.v.Now
	d.h.Pending, d.h.Oldest = waits.Listed(d.h, d.v.Now)
	d.h.Deadline = waits.Due(d.h, d.round.Questions)
	c.Head, c.Drained, c.State, c.Revision, c.Round, c.Fired = d.h, d.drained, d.state, d.revision, d.round, d.untaken()
	c.AllSeen = c.AllSeen || d.closes
	c.Votes = poll.Changes(d.v.Head, d.h, d.opens, d.counted)
	return &c
}

// event adds an event; message is the index from 1 of the message whose content belongs to it, 0
// for none.
func (d *draft) event(t core.EventType, data any, message int) {
	d.h.Ev++
	e := core.Event{Seq: d.h.Ev, RunID: d.h.Run, ThreadID: d.h.Thread, Turn: d.h.Turn, Step: d.h.Step, At: d.v.Now, Type: t, Message: message}
	if data != nil {
		e.Data = core.Encode(data)
	}
	d.seg.Events = append(d.seg.Events, e)
	d.owe(e)
}

// message adds a message and returns its index from 1. User messages and results clear ModelSawAll,
// because the model hasn't seen them yet.
func (d *draft) message(m core.Message) int {
	m.RunID, m.At = d.h.Run, d.v.Now
	if m.Role == core.RoleUser || m.Role == core.RoleTool && !m.Pending {
		d.h.ModelSawAll = false
	}
	d.h.UserSpokeSince = d.h.UserSpokeSince || m.Role == core.RoleUser && !m.InResult()
	d.seg.Messages = append(d.seg.Messages, m)
	return len(d.seg.Messages)
}

// change edits the head's record of a call. Only [draft.move] changes its status.
func (d *draft) change(id string, edit func(*core.Call)) {
	c := d.h.Calls[id]
	edit(&c)
	d.h.Calls[id] = c
}

// setStatus changes the run's status if the table of transitions allows it.
func (d *draft) setStatus(next core.RunStatus) error {
	to, err := d.h.Status.To(next)
	if err != nil {
		return err
	}
	d.h.Status = to
	return nil
}

func (d *draft) runState(s core.RunStatus, r *core.Reason) core.RunState {
	state := core.RunState{ID: d.h.Run, Status: s, UpdatedAt: d.v.Now}
	if r != nil {
		word := r.Kind.String()
		state.DoneReason = &word
	}
	return state
}
