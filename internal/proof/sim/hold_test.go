package sim_test

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// held is what a referee knows of decisions that may be withdrawn.
type held struct {
	first map[string][]storing // by suspension, in their order
	gone  map[[2]string]int    // from which moment on a decision is withdrawn
	undid map[[2]string]holds.By
}

type storing struct {
	q    *question
	from int
}

func newHeld() held {
	return held{map[string][]storing{}, map[[2]string]int{}, map[[2]string]holds.By{}}
}

func (h held) stored(sus string, q *question, from int) {
	h.first[sus] = append(h.first[sus], storing{q, from})
}

// at is the decision that was stored at a moment.
func (h held) at(sus string, at int) (q *question) {
	for _, s := range h.first[sus] {
		if q == nil || s.from <= at {
			q = s.q
		}
	}
	return q
}

func (h held) undone(sus, id string, at int) bool {
	from, gone := h.gone[[2]string{sus, id}]
	return gone && from <= at
}

// undone learns that a decision was withdrawn, and holds that against who made it.
func (r *referee) undone(thread string, req engine.SignalRequest) {
	l := r.thread(thread)
	at := [2]string{req.Signal.Sus, req.Signal.ID}
	if _, before := l.held.gone[at]; before {
		r.s.wrong("UN-2: decision %q on %s was withdrawn twice", req.Signal.ID, req.Signal.Sus)
	}
	l.held.gone[at], l.held.undid[at] = len(l.moments), holds.By{Principal: req.Signal.By, Link: req.Signal.Link}
	r.s.faults.Counts["withdrawn"]++
}

func (d desk) Withdraw(ctx context.Context, c frontend.Caller, sus, decision string) (wire.DecisionAnswer, error) {
	return d.Reader.Withdraw(d.by(ctx, request{who: c}), c, sus, decision)
}

// maybeHold holds a decision now and then. The answer to a question makes its caller an asker, also
// if it is withdrawn: such an answer is not held.
func (t *thread) maybeHold(p wire.Pending, d *wire.Decision) {
	if d.Target == p.Suspension.ID && !t.isQuestion(p) && t.pick(4) == 0 {
		d.Hold = 1 + t.pick(12)
		t.s.faults.Counts["held"]++
	}
}

// agree lets other people send the same answer, now and then, while it is held, or when its hold is
// over and no worker has taken it up. It has the same id, as ids that are made of what is answered.
func (t *thread) agree(ctx context.Context, p wire.Pending, run string, d wire.Decision) {
	for d.Hold > 0 && t.pick(3) == 0 {
		if t.pick(2) == 0 {
			_ = t.s.w.Sleep(ctx, time.Duration(d.Hold)*time.Second-time.Second+t.s.w.Upto(2*time.Second))
		}
		alike := d
		alike.Hold = []int{0, d.Hold}[t.pick(2)]
		t.s.faults.Counts["agreed with one that is held"]++
		t.decide(ctx, t.answerer(p), run, alike)
	}
}

// undo is a decision that may be withdrawn, and by whom.
type undo struct {
	who     frontend.Caller
	sus, id string
}

// takeBack withdraws a decision that was held, or tries to, as who decided or as someone else.
func (t *thread) takeBack(ctx context.Context, u undo) {
	who := u.who
	if t.pick(8) == 0 {
		who = t.someone()
	}
	request := func(ctx context.Context) (wire.DecisionAnswer, error) {
		return t.s.front.Withdraw(ctx, who, u.sus, u.id)
	}
	judge := func(err error) {
		t.s.w.Note("%q takes %q on %s back: %v", who.By, u.id, u.sus, err)
		switch {
		case err == nil:
			t.undone[u.id] = u.sus
		case code(err) == refusal.CodeDecisionApplied:
			t.kept[u.id] = u.sus
		case code(err) == refusal.CodeNotYourDecision && who.By == u.who.By:
			t.s.wrong("UN-4: %q may take %q back, and was told %v", who.By, u.id, err)
		}
	}
	_, err := persist(ctx, t.s, request)
	judge(err)
	t.sent = append(t.sent, func(ctx context.Context) {
		_, err := once(ctx, request)
		judge(err)
	})
}

// someTime is how long a person takes to see that a decision was wrong.
func (t *thread) someTime(ctx context.Context, hold int) {
	_ = t.s.w.Sleep(ctx, t.s.w.Upto(time.Duration(hold)*time.Second+time.Second))
}

// checkWithdrawn: a decision that was withdrawn is in the journal as that, once, and has no effect;
// one that could not be withdrawn any more is none of them.
func (s *stage) checkWithdrawn(t *thread, segments []core.Segment, journaled []decided) {
	times := map[[2]string]int{}
	for _, e := range eventsOf(segments, core.EventDecisionWithdrawn) {
		var data events.Withdrawn
		_ = json.Unmarshal(e.Data, &data)
		times[[2]string{data.Suspension, data.DecisionID}]++
	}
	for at, n := range times {
		applied := slices.ContainsFunc(journaled, func(d decided) bool { return d.Suspension == at[0] && d.DecisionID == at[1] && d.Applied })
		if n != 1 || applied {
			s.wrong("UN-1: decision %q on %s was withdrawn %d times, and applied: %v", at[1], at[0], n, applied)
		}
	}
	for at := range s.referee.thread(t.id).held.gone {
		if times[at] != 1 {
			s.wrong("UN-2: the withdrawal of %q on %s was stored, and is %d times in the journal", at[1], at[0], times[at])
		}
	}
	for id, sus := range t.undone {
		if times[[2]string{sus, id}] != 1 {
			s.wrong("UN-2: the withdrawal of %q on %s was accepted, and is %d times in the journal", id, sus, times[[2]string{sus, id}])
		}
	}
	for id, sus := range t.kept {
		if times[[2]string{sus, id}] != 0 {
			s.wrong("UN-1: %q on %s was told to be applied, and was withdrawn", id, sus)
		}
	}
}

// withdrawn says whether a decision that counted once was withdrawn. Of those who were told that
// their answer counts, all are the one who withdrew it (UN-5).
func (s *stage) withdrawn(t *thread, d toldDecision) bool {
	for at, by := range s.referee.thread(t.id).held.undid {
		if at[1] == d.id && (d.sus == "" || at[0] == d.sus) {
			if d.answer != "winner" && d.who != by {
				s.wrong("UN-5: %q was told %s about decision %q on %s, which %q withdrew", d.who.Principal, d.answer, d.id, at[0], by.Principal)
			}
			return true
		}
	}
	return false
}
