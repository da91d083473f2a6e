package planner

import (
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/inbox"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
)

// deadlineOf returns when a new suspension times out. A tool's own limit precedes the definition's.
// An unknown outcome and an interrupt have no deadline: time doesn't reveal what happened to a
// body, and an interrupted run waits for the caller.
func (d *draft) deadlineOf(call core.ToolCall, kind core.Kind, t core.SuspendTicket) int64 {
	within := t.Within
	if within == 0 {
		within = d.v.Rules.Deadline(call, kind).Within
	}
	if within <= 0 || kind == core.KindUnknownOutcome || kind == core.KindInterrupt {
		return 0
	}
	return d.v.Now + within
}

// applyDeadlines closes the suspended calls whose deadline has passed without an answer. The store
// refuses this commit if the inbox has an unseen answer; the owner drains that answer, and it wins.
//
//	owner sees the deadline passed ── answer stored (202) ── commit: refused
func (d *draft) applyDeadlines() error {
	for _, call := range d.round.Calls {
		c := d.h.Calls[call.ID]
		if c.Status != core.CallSuspended || c.Deadline == 0 || c.Deadline > d.v.Now || hold.On(d.h, c.Sus, d.v.Now) {
			continue
		}
		d.openTurn(core.CauseDeadline)
		d.closes, d.must = true, true
		if len(d.h.TimedOut) < mostTimed && c.Kind != core.KindChild {
			d.h.TimedOut[c.Sus] = 1
		}
		rec := core.DecisionRecord{CallID: call.ID, Suspension: c.Sus, By: "deadline", Via: ViaDeadline, Applied: true, TimedOut: true, Silent: d.silence(c),
			Resume: phrase.AtDeadline(d.v.Rules.Deadline(call, c.Kind), c, d.round.Questions[c.Sus].Policy, d.silence(c), d.v.Now)}
		if err := d.apply(call, rec); err != nil {
			return err
		}
	}
	return nil
}

// silence says whether the policy that a call waits under approves it if no one answers. Where the
// requester must not approve, another person must: waiting would be an approval by the requester.
func (d *draft) silence(c core.Call) bool {
	q := d.round.Questions[c.Sus]
	return c.Kind == core.KindApproval && c.Mode != core.UseDecisionAsToolResult && q.NotBy == "" && q.Policy.Silence()
}

// mostTimed bounds how many timed out suspensions of a run take a late answer.
const mostTimed = 32

// recordLate records the first answer that came after the deadline of its suspension had decided,
// and tells the model once. Nothing else follows from it.
func (d *draft) recordLate(s delivery) {
	sus := strings.TrimPrefix(s.key, core.LateKey(""))
	r, _ := inbox.Resume(s.Signal, s.value) // what cannot be read came too late all the same
	if d.h.TimedOut[sus] == 0 {
		return
	}
	delete(d.h.TimedOut, sus)
	rec := s.Record(sus, r)
	rec.Late = true
	d.round.LateWords = d.round.LateWords || rec.Words()
	d.endGrantsOfAnswered()
	d.event(core.EventDecisionRecorded, rec, 0)
	d.message(core.Message{Role: core.RoleSystem, Parts: core.TextParts(fmt.Sprintf("An answer to the call %s arrived after its deadline and was not used: %s", s.Call, core.Clip(phrase.Decision(r), 500)))})
}

// wakeForDeadline makes a run that waits to retry its model wake for a call's deadline, too. The
// run then retries the model early.
func (d *draft) wakeForDeadline() {
	if first := waits.Due(d.h, d.round.Questions); d.h.Outage != nil && first > d.v.Now {
		d.h.NotBefore = min(d.h.NotBefore, first)
	}
}
