package frontend_test

import (
	"context"
	"slices"
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

// A page says that a tree rests, or is done, only if it did at one moment of the read, and then it
// is behind all that was committed up to there: clients stop there. This holds whatever happens
// between any two reads of the page.
func TestATreeRestsOnlyBehindItsLastEvent(t *testing.T) {
	told := treeTold(t)
	for before := range told[1:] {
		for _, during := range []int{1, len(told) - 1 - before} {
			for at := 1; before+during < len(told); at++ {
				s := &between{}
				x := newFixture(t, func(inner frontend.Store) frontend.Store { s.Store = inner; return s })
				root, acts := x.familyLife()
				for _, one := range acts[:before] {
					one.act()
				}
				s.loads, s.at = 0, at
				for _, one := range acts[before : before+during] {
					s.acts = append(s.acts, one.act)
				}
				_, shown, rests := x.readToRest(root, "")
				may := told[before : before+during+1]
				if s.acts != nil { // the page needed fewer reads
					may = may[:1]
				}
				if rests && !slices.Contains(may, treeState{true, shown}) {
					t.Errorf("%d acts, and %d at read %d: it rests behind %d events, and it was so: %+v", before, during, at, shown, may)
				}
				if s.acts != nil {
					if rests != may[0].rests {
						t.Errorf("%d acts: the tree rests is %v, and its page says %v", before, may[0].rests, rests)
					}
					break
				}
			}
		}
	}
}

// treeState is a tree after some acts.
type treeState struct {
	rests  bool // nothing happens until someone acts
	events int
}

// treeTold are the states of the tree after each of its acts.
func treeTold(t *testing.T) []treeState {
	x := newFixture(t, nil)
	root, acts := x.familyLife()
	told := []treeState{{}}
	for i := 0; ; i++ {
		after := ""
		for {
			page, err := x.grown(root, after)
			if err != nil {
				t.Fatal(err)
			}
			told[i].events += len(page.Items)
			if after = page.Next; len(page.Items) == 0 {
				break
			}
		}
		if i == len(acts) {
			return told
		}
		acts[i].act()
		told = append(told, treeState{rests: acts[i].rests})
	}
}

// treeAct is something that happens in a tree.
type treeAct struct {
	rests bool // the tree does then
	act   func()
}

// familyLife is a run with two below it, one of which asks while the other works, and what happens
// in them: they ask, one of them twice, are answered and end.
func (x *fixture) familyLife() (root string, acts []treeAct) {
	root = x.start().ID
	below := x.worker.Launch(root, agentCall("a"), agentCall("b"))
	sus := map[string]string{}
	asks := func(run string) func() {
		return func() { sus[run] = x.worker.Suspend(below[run], approval("c"))["c"] }
	}
	answered := func(run string) func() {
		return func() {
			answer, err := x.decide(below[run], sus[run], wire.Decision{Action: "resume"})
			x.want(answer, err, "accepted")
		}
	}
	goesOn := func(run string) func() { return func() { x.worker.Drain(below[run]) } }
	ended := func(run string) func() {
		return func() { x.worker.Finish(below[run], "done"); x.tellParent(below[run]) }
	}
	taken := func(run string) func() {
		return func() { x.worker.TakeResult(below[run], core.CallOutcomeSucceeded) }
	}
	asks("a")()
	return root, []treeAct{
		{true, asks("b")}, {false, answered("a")}, {false, goesOn("a")}, {false, answered("b")}, {false, asks("a")}, {false, goesOn("b")},
		{false, ended("b")}, {true, taken("b")}, {false, answered("a")}, {false, goesOn("a")}, {false, ended("a")}, {false, taken("a")},
		{true, func() { x.worker.Finish(root, "all done") }},
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
func (x *fixture) readToRest(root, after string) (next string, events int, rests bool) {
	x.t.Helper()
	for {
		page, err := x.grown(root, after)
		if err != nil {
			x.t.Fatal(err)
		}
		after, events = page.Next, events+len(page.Items)
		if rests = page.Waiting || page.Done; rests || len(page.Items) == 0 {
			return after, events, rests
		}
	}
}

func (x *fixture) grown(root, after string) (wire.EventPage, error) {
	return treefeed.Reader{Runs: x.Reader}.Grown(x.t.Context(), anna, root, query.EventQuery{After: after})
}
