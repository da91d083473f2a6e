package planner_test

import (
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// flightStage is what one owner of the stage knows of its bodies.
type flightStage struct {
	begun map[string]bool // by call and attempt
	up    map[string]plans.BodyRun
	ended int
}

// begin notes bodies in flight. An owner begins each body once, and only after the decision is
// committed.
func (s *stage) begin(v *plans.View, runs []plans.BodyRun) {
	for _, run := range runs {
		call := s.head.Calls[run.Call.ID]
		attempt := fmt.Sprint(run.Call.ID, "/", run.Attempt)
		switch {
		case s.flight.begun[attempt]:
			s.t.Fatalf("one owner begins %s twice", attempt)
		case run.Attempt != call.Number:
			s.t.Fatalf("attempt %d of %s begins, and attempt %d is committed", run.Attempt, run.Call.ID, call.Number)
		case run.AtMostOnce && call.IntentEpoch != s.head.Epoch:
			s.t.Fatalf("%s begins without a committed intent", attempt)
		}
		s.flight.begun[attempt] = true
		s.flight.up[run.Call.ID] = run
		v.InFlight = append(v.InFlight, plans.InFlight{CallID: run.Call.ID, Saw: s.flight.ended})
	}
}

// land ends all bodies in flight; or, in a parallel turn, a decision arrives and some of them end.
func (s *stage) land(v *plans.View) {
	all := !s.rules.Terms().Parallel || s.choose(2) == 0 || len(s.head.Inbox) > 0
	if !all {
		s.answer()
		*v = s.look(*v)
	}
	all = all || !hold.Decided(s.head, v.Now)
	for _, f := range slices.Clone(v.InFlight) {
		if all || s.choose(2) == 0 {
			s.came(v, f, s.body(s.flight.up[f.CallID]))
		}
	}
}

// stop ends all bodies in flight: some return in time.
func (s *stage) stop(v *plans.View) {
	for _, f := range slices.Clone(v.InFlight) {
		out := plans.BodyOutcome{CallID: f.CallID, Interrupted: true, Stopping: true}
		if s.choose(2) == 0 {
			out = s.body(s.flight.up[f.CallID])
		}
		s.came(v, f, out)
	}
}

func (s *stage) came(v *plans.View, f plans.InFlight, out plans.BodyOutcome) {
	s.flight.ended++
	out.Nth, out.Saw = s.flight.ended, f.Saw
	v.Outcomes = append(v.Outcomes, out)
	v.InFlight = slices.DeleteFunc(slices.Clone(v.InFlight), func(o plans.InFlight) bool { return o.CallID == f.CallID })
}

// look reads the head as the owner does, with the signals that came.
func (s *stage) look(v plans.View) plans.View {
	v.Head = s.head.Clone()
	return v
}
