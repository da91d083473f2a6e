package frontend_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/treefeed"
)

// between plays acts before the n-th load of a head, while a reader is at work.
type between struct {
	frontend.Store
	loads, at int
	acts      []func()
}

func (s *between) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	if s.loads++; s.loads == s.at {
		acts := s.acts
		s.acts = nil
		for _, act := range acts {
			act()
		}
	}
	return s.Store.Load(ctx, tenant, thread)
}

// A page says that a tree rests, or is done, only behind all that was committed: clients stop
// there. This holds between any two reads of the page; a tree that still asks was at rest before,
// too.
func TestATreeRestsOnlyBehindItsLastEvent(t *testing.T) {
	const acts, reads = 6, 30
	for before := range acts {
		for _, during := range []int{1, acts - before} {
			for at := 1; at <= reads; at++ {
				t.Run(fmt.Sprintf("%d acts, and %d at read %d", before, during, at), func(t *testing.T) {
					s := &between{}
					x := newFixture(t, func(inner frontend.Store) frontend.Store { s.Store = inner; return s })
					root, acts := x.familyLife()
					for _, act := range acts[:before] {
						act()
					}
					s.loads, s.at, s.acts = 0, at, acts[before:before+during]
					after, rests := x.readToRest(root)
					s.acts = nil
					asks := len(x.shown(root).Pending) > 0
					if more, err := x.grown(root, after); err != nil || rests && !asks && len(more.Items) > 0 {
						t.Errorf("%d events came behind the rest; %v", len(more.Items), err)
					}
				})
			}
		}
	}
}

// familyLife is a run with two below it, and what happens in them: each asks, is answered and ends.
func (x *fixture) familyLife() (root string, acts []func()) {
	root = x.start().ID
	below := x.worker.Launch(root, agentCall("a"), agentCall("b"))
	asked := x.worker.Suspend(below["a"], approval("c1"))["c1"]
	answered := func(run, sus string) {
		answer, err := x.decide(run, sus, wire.Decision{Action: "resume"})
		x.want(answer, err, "accepted")
		x.worker.Drain(run)
	}
	ended := func(run string) {
		x.worker.Finish(run, "done")
		x.tellParent(run)
		x.worker.TakeResult(run, core.CallOutcomeSucceeded)
	}
	var later string
	return root, []func(){
		func() { later = x.worker.Suspend(below["b"], approval("c2"))["c2"] },
		func() { answered(below["a"], asked) },
		func() { answered(below["b"], later) },
		func() { ended(below["a"]) },
		func() { ended(below["b"]) },
		func() { x.worker.Finish(root, "all done") },
	}
}

// tellParent puts the end of a run into the inbox of the one above it.
func (x *fixture) tellParent(run string) {
	x.t.Helper()
	thread, _ := core.ThreadOf(run)
	up := x.head(thread).Parent
	if _, err := x.store.Signal(x.t.Context(), engine.SignalRequest{Tenant: anna.Tenant, Thread: up.Thread, Run: up.Run, InboxKey: up.Sus, Call: up.Call, Suspension: up.Sus,
		Signal: core.Signal{Kind: core.SignalDecision, Call: up.Call, By: run, At: 1, Value: []byte(`{"action":"resume"}`)}}); err != nil {
		x.t.Fatal(err)
	}
}

// readToRest reads a tree until it rests, or has nothing more for now.
func (x *fixture) readToRest(root string) (after string, rests bool) {
	x.t.Helper()
	for {
		page, err := x.grown(root, after)
		if err != nil {
			x.t.Fatal(err)
		}
		after = page.Next
		if rests = page.Waiting || page.Done; rests || len(page.Items) == 0 {
			return after, rests
		}
	}
}

func (x *fixture) grown(root, after string) (wire.EventPage, error) {
	return treefeed.Reader{Runs: x.Reader}.Grown(x.t.Context(), anna, root, query.EventQuery{After: after})
}
