package planner

import (
	"cmp"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// timesOf returns when something is due about a new suspension. A stage that follows another, and a
// question about edited arguments, keep the deadline of the first.
func (d *draft) timesOf(call core.ToolCall, kind core.Kind, t core.SuspendTicket) core.Times {
	var times core.Times
	if t.Policy != nil {
		times = d.v.Rules.Times(t.Deciding(), t.Stage, d.v.Now)
	}
	if kind == core.KindUnknownOutcome {
		times.Deadline = 0
	}
	if t.Within != 0 || times.Deadline == 0 {
		times.Deadline = d.deadlineOf(call, kind, t)
	}
	times.Deadline = cmp.Or(t.Until, times.Deadline)
	if near := d.near(times.Deadline); near != 0 && kind != core.KindChild {
		times.Moments = append(times.Moments, core.Moment{At: near, What: core.MomentNear})
	}
	if times.Deadline != 0 {
		times.Moments = slices.DeleteFunc(times.Moments, func(m core.Moment) bool { return m.At >= times.Deadline })
	}
	slices.SortStableFunc(times.Moments, func(a, b core.Moment) int { return cmp.Compare(a.At, b.At) })
	return times
}

// near is when subscribers are told that a deadline is near: once three quarters of the time have
// passed. 0 if no one has subscribed to that.
func (d *draft) near(deadline int64) int64 {
	if deadline <= d.v.Now || !slices.Contains(d.v.Notices, notice.DeadlineNear) {
		return 0
	}
	return deadline - (deadline-d.v.Now)/4
}

// question is what is asked on a suspension of this round, and of whom.
func (d *draft) question(sus string) core.SuspendedCall {
	q := d.round.Questions[sus]
	return q.As(d.h.Calls[q.CallID])
}

// applyMoments does what has become due about the calls that go on waiting. It notes how many
// moments have passed: after an outage people get one notice, not one for each. Like a deadline, a
// moment gives way to an answer that the owner has not seen.
//
//	owner sees the moment passed ── answer stored (202) ── commit: refused
func (d *draft) applyMoments() error {
	for _, call := range d.round.Calls {
		c := d.h.Calls[call.ID]
		if c.Status != core.CallSuspended || hold.On(d.h, c.Sus, d.v.Now) {
			continue
		}
		q := d.question(c.Sus)
		passed := q.Moments.Passed(c.Moments, d.v.Now)
		if len(passed) == 0 {
			continue
		}
		d.closes, d.must = true, true
		d.change(call.ID, func(c *core.Call) { c.Moments += len(passed) })
		data := events.Reminded{CallID: call.ID, ToolName: call.Name, Suspension: c.Sus, Moment: c.Moments + len(passed), Moments: len(q.Moments), Deadline: c.Deadline}
		switch core.Strongest(passed) {
		case core.MomentEscalate:
			if err := d.escalate(call, q, data); err != nil {
				return err
			}
		case core.MomentNear:
			d.event(core.EventCallDeadlineNear, data, 0)
		default:
			d.event(core.EventCallReminded, data, 0)
		}
	}
	return nil
}

// escalate asks another group, too, or in place of the one that did not answer.
//
// Where the group is added, the question stays: who could vote still can, so each vote that is
// stored counts, whether its voter had seen the escalation or not. Where it is replaced, a vote of
// the first group must not count any more. So the question is closed and asked again, and no link,
// no count and no decision on the old one holds.
//
//	vote on the old question, stored before the commit: that is refused, and the vote counts
//	vote on the old question, after the commit: refused, the call waits on another question
func (d *draft) escalate(call core.ToolCall, q core.SuspendedCall, data events.Reminded) error {
	if q.Policy == nil || q.Asked().Escalate == nil {
		d.event(core.EventCallReminded, data, 0) // stored so by another program
		return nil
	}
	to := q.Asked().Escalate
	data.Group, data.Replaced = to.To.Name, to.Replace
	d.event(core.EventCallEscalated, data, 0)
	if !to.Replace {
		d.change(call.ID, func(c *core.Call) { c.Escalated = true })
		return nil
	}
	t := q.SuspendTicket
	before := t.Suspension.ID
	t.Escalated = append(slices.Clone(t.Escalated), t.Stage)
	t.Follows, t.Until, t.Scratch = before, q.Deadline, nil
	if err := d.suspend(call, q.Kind, t); err != nil {
		return err
	}
	if begin, counted := d.opens[d.h.Calls[call.ID].Sus]; counted {
		for person, said := range d.h.Votes[before] {
			if said == vote.Spent || said == vote.Minted {
				begin[person] = said
			}
		}
	}
	return nil
}
