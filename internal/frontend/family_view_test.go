package frontend_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func (x *fixture) shown(run string) wire.Run {
	x.t.Helper()
	shown, err := x.Run(x.t.Context(), anna, run)
	if err != nil {
		x.t.Fatal(err)
	}
	return shown
}

// route is a path in short.
func route(path []wire.PathStep) string {
	var steps []string
	for _, s := range path {
		steps = append(steps, s.Agent+" "+s.RunID+" "+s.CallID)
	}
	return strings.Join(steps, ", ")
}

func TestARunShowsWhatTheRunsBelowItWaitFor(t *testing.T) {
	x := newFixture(t, nil)
	r := x.tree(approval("c1"), frontendtest.Call{ID: "c2", Tool: "ask", Kind: core.KindInput})
	toChild, toLeaf := "researcher "+r.child+" ask-a", "researcher "+r.leaf+" ask-b"
	for run, want := range map[string]string{r.root: toChild + ", " + toLeaf, r.child: toLeaf, r.leaf: ""} {
		shown := x.shown(run)
		if len(shown.Pending) != 2 || shown.PendingCut || shown.Status != "waiting" {
			t.Fatalf("%s: %+v", run, shown)
		}
		for i, id := range []string{"c1", "c2"} {
			p := shown.Pending[i]
			own := x.shown(r.leaf).Pending[i]
			if p.CallID != id || route(p.Path) != want || p.Fingerprint != own.Fingerprint || p.Fingerprint == "" {
				t.Errorf("%s: call %s by %q, fingerprint %s", run, p.CallID, route(p.Path), p.Fingerprint)
			}
		}
	}
	answer, err := x.decide(r.root, r.sus["c1"], wire.Decision{Action: "resume", Shown: x.shown(r.root).Pending[0].Fingerprint})
	x.want(answer, err, "accepted")
}

func TestARunShowsItsParentAndItsChildren(t *testing.T) {
	x := newFixture(t, nil)
	r := x.tree(approval("c1"))
	root, child, leaf := x.shown(r.root), x.shown(r.child), x.shown(r.leaf)
	if root.Parent != nil || *child.Parent != (wire.ParentRun{RunID: r.root, ThreadID: threadOf(r.root), CallID: "ask-a"}) || leaf.Parent.RunID != r.child {
		t.Errorf("parents: %+v %+v %+v", root.Parent, child.Parent, leaf.Parent)
	}
	if len(root.Children) != 1 || root.Children[0] != (wire.ChildRun{RunID: r.child, ThreadID: threadOf(r.child), Agent: "researcher", CallID: "ask-a", Status: "waiting"}) || len(leaf.Children) != 0 {
		t.Errorf("children: %+v, of the leaf %+v", root.Children, leaf.Children)
	}
	x.worker.Finish(x.stirred(r.leaf), "done")
	if c := x.shown(r.child); c.Children[0].Status != "done" || len(c.Pending) != 0 {
		t.Errorf("a child whose result isn't taken yet: %+v", c)
	}
	// the start isn't stored yet, so only the journal knows whose the child is
	early := x.start().ID
	x.worker.Suspend(early, agentCall("a"))
	if c := x.shown(early).Children; len(c) != 1 || c[0].Agent != "researcher" || c[0].Status != "created" {
		t.Errorf("before the launch: %+v", c)
	}
}

// stirred lets a worker claim a run that waits.
func (x *fixture) stirred(run string) string {
	x.stir(run)
	return run
}

func TestTheUsageOfATreeCountsEachRunOnce(t *testing.T) {
	x := newFixture(t, nil)
	root := x.start().ID
	x.worker.Spend(root, 1, 2, 3)
	children := x.worker.Launch(root, agentCall("a"), agentCall("b"))
	x.worker.Spend(children["a"], 10, 20, 30)
	leaf := x.worker.Launch(children["b"], agentCall("c"))["c"]
	x.worker.Spend(leaf, 100, 200, 300)
	want := func(runs int, in, out int64, cost string) {
		t.Helper()
		u := x.shown(root).Usage.Total
		if u == nil || u.Runs != runs || u.InputTokens != in || u.OutputTokens != out || u.Cost == nil || u.Cost.USD != cost {
			t.Errorf("total %+v, want %d runs, %d and %d tokens, %s", u, runs, in, out, cost)
		}
	}
	want(4, 111, 222, "0.000333")
	x.worker.Finish(leaf, "done")
	want(4, 111, 222, "0.000333")
	x.stir(children["b"])
	x.worker.TakeResult(leaf, core.CallOutcomeSucceeded)
	want(4, 111, 222, "0.000333")
	x.worker.Finish(children["a"], "done")
	x.stir(root)
	x.worker.TakeResult(children["a"], core.CallOutcomeSucceeded)
	want(4, 111, 222, "0.000333")
	if alone := x.start(); x.shown(alone.ID).Usage.Total != nil {
		t.Error("a run alone has a total")
	}
	page, err := x.Runs(t.Context(), anna, query.List{})
	if err != nil || len(page.Items) == 0 {
		t.Fatal(err)
	}
	for _, one := range page.Items {
		if one.ID == root && (one.Usage.Total.Runs != 2 || len(one.Children) != 0) {
			t.Errorf("in a list: %+v %+v", one.Usage.Total, one.Children)
		}
	}
}

func TestMoreRunsBelowThanAreLookedAtAreCut(t *testing.T) {
	x := newFixture(t, nil)
	root := x.start().ID
	var calls []frontendtest.Call
	for i := range 65 {
		calls = append(calls, agentCall(fmt.Sprintf("a%02d", i)))
	}
	children := x.worker.Launch(root, calls...)
	x.worker.Suspend(children["a00"], approval("c1"))
	x.worker.Suspend(children["a64"], approval("c1"))
	shown := x.shown(root)
	if !shown.PendingCut || len(shown.Children) != 64 || len(shown.Pending) != 1 || shown.Pending[0].Path[0].CallID != "a00" {
		t.Errorf("cut %v, %d children, pending %+v", shown.PendingCut, len(shown.Children), shown.Pending)
	}
}

func TestTheInboxShowsWhatAChildWaitsForOnce(t *testing.T) {
	x := newFixture(t, nil)
	r := x.tree(approval("c1"))
	own := x.start().ID
	x.worker.Suspend(own, approval("c1"))
	page, err := x.Approvals(t.Context(), anna, query.List{})
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("%d entries, %v: %+v", len(page.Items), err, page.Items)
	}
	want := map[string]string{own: "", r.leaf: "desk " + r.root + " , researcher " + r.child + " ask-a, researcher " + r.leaf + " ask-b"}
	for _, a := range page.Items {
		if path, there := want[a.RunID]; !there || route(a.Path) != path {
			t.Errorf("%s by %q", a.RunID, route(a.Path))
		}
	}
	counts, err := x.Counts(t.Context(), anna, "")
	if err != nil || counts.Waiting != 2 {
		t.Errorf("%+v, %v", counts, err)
	}
	waits, _, err := x.Suspension(t.Context(), anna, r.sus["c1"])
	if err != nil || route(waits.Path) != want[r.leaf] {
		t.Errorf("alone: %+v, %v", waits, err)
	}
	_, _, err = x.Suspension(t.Context(), anna, x.head(threadOf(r.child)).Calls["ask-b"].Sus)
	x.wantCode(err, refusal.CodeCallNotFound)
}

// One run whose data can't be read must hide neither its parent nor its siblings.
func TestAnUnreadableChildHidesNoOther(t *testing.T) {
	for name, broken := range map[string]unreadableThread{"its head": {head: true}, "its journal": {}} {
		t.Run(name, func(t *testing.T) {
			store := &broken
			x := newFixture(t, func(s frontend.Store) frontend.Store { store.Store = s; return store })
			root := x.start().ID
			children := x.worker.Launch(root, agentCall("a"), agentCall("b"))
			x.worker.Suspend(children["a"], approval("c1"))
			x.worker.Suspend(children["b"], approval("c1"))
			store.thread = threadOf(children["a"])
			shown := x.shown(root)
			if !shown.PendingCut || len(shown.Pending) != 1 || shown.Pending[0].Path[0].RunID != children["b"] {
				t.Errorf("cut %v: %+v", shown.PendingCut, shown.Pending)
			}
		})
	}
}

// unreadableThread can't read one thread.
type unreadableThread struct {
	frontend.Store
	thread string
	head   bool
}

var errUnreadable = fmt.Errorf("%w: %w", engine.ErrUnavailable, engine.ErrUnreadable)

func (s *unreadableThread) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	if s.head && thread == s.thread {
		return core.Head{}, errUnreadable
	}
	return s.Store.Load(ctx, tenant, thread)
}

func (s *unreadableThread) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	if !s.head && thread == s.thread {
		return nil, errUnreadable
	}
	return s.Store.Segments(ctx, tenant, thread, from, to)
}

// A run that waits for runs goes on by itself, so who waits for it is held until there is something
// to do for a person.
func TestARunThatWaitsForRunsAloneIsWaitedFor(t *testing.T) {
	x := newFixture(t, nil)
	root := x.start().ID
	child := x.worker.Launch(root, agentCall("a"))["a"]
	looks := 0
	x.clock.Waiting = func() {
		if looks++; looks == 3 {
			x.worker.Suspend(child, approval("c1"))
		}
	}
	run, err := x.AwaitRun(t.Context(), anna, root, time.Minute)
	if err != nil || len(run.Pending) != 1 || looks < 3 {
		t.Errorf("after %d looks: %+v, %v", looks, run.Pending, err)
	}
}
