package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// asksBelow is a root that waits for a child, which waits for an approval.
func asksBelow(t *testing.T) (f *forest, leaf string) {
	t.Helper()
	f = newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`)), says("ok")}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`)), says("paid")}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	return f, f.child(trunk, "c1")
}

func (f *forest) without(agent string, err error) {
	f.loads = func(name string) error {
		if name == agent {
			return err
		}
		return nil
	}
}

// A cancel needs no agent, and neither does what follows from it for the runs below and above.
func TestACancelGoesDownAlthoughTheAgentIsUnavailable(t *testing.T) {
	f, leaf := asksBelow(t)
	f.without("root", &engine.AgentUnavailableError{Name: "root", Reason: "a secret is not set"})
	f.must(f.cancel(trunk))
	f.work()
	f.later(time.Minute)
	f.want(leaf, core.Cancelled)
	f.want(trunk, core.Cancelled)
}

func TestACancelledChildTellsItsParentAlthoughItsAgentIsUnavailable(t *testing.T) {
	f, leaf := asksBelow(t)
	f.without("leaf", &engine.AgentUnavailableError{Name: "leaf", Reason: "a secret is not set"})
	f.must(f.cancel(leaf))
	f.work()
	f.later(time.Minute)
	f.want(leaf, core.Cancelled)
	f.want(trunk, core.NaturalEnd)
}

// A child whose version is gone fails, and its parent learns it; a parent whose version is gone
// cancels its children.
func TestAMissingVersionInATree(t *testing.T) {
	f, leaf := asksBelow(t)
	f.without("leaf", engine.ErrNotFound)
	f.must(f.decide(leaf, "x", core.ActionResume))
	f.work()
	f.want(leaf, core.Failed)
	f.want(trunk, core.NaturalEnd)
	if r := f.result(trunk, "c1"); r.CallOutcome() != core.CallOutcomeChildFailed || len(f.ran) > 0 {
		t.Errorf("the result is %+v, ran %v", r, f.ran)
	}

	f, leaf = asksBelow(t)
	f.without("root", engine.ErrNotFound)
	f.must(f.send(trunk, core.MessageKey("m"), core.Signal{Kind: core.SignalMessage, Value: core.Encode(core.TextParts("hello"))}))
	f.work()
	f.want(trunk, core.Failed)
	f.want(leaf, core.Cancelled)
}

// A crash loop cancels what is below, and tells what is above.
func TestACrashLoopInATree(t *testing.T) {
	crash := func(f *forest, thread string) {
		for range 12 {
			_, _ = f.eng.Step(t.Context(), engine.Wakeup{Tenant: "t", Thread: thread})
			f.clock.Advance(3 * time.Minute)
		}
	}
	f, leaf := asksBelow(t)
	f.without("root", errRestive)
	f.must(f.send(trunk, core.MessageKey("m"), core.Signal{Kind: core.SignalMessage, Value: core.Encode(core.TextParts("hello"))}))
	crash(f, trunk)
	f.work()
	if h := f.want(trunk, core.Failed); h.End.Code != "crash_loop" {
		t.Errorf("ended as %+v", h.End)
	}
	f.want(leaf, core.Cancelled)

	f, leaf = asksBelow(t)
	f.without("leaf", errRestive)
	f.must(f.decide(leaf, "x", core.ActionResume))
	crash(f, leaf)
	f.work()
	f.want(leaf, core.Failed)
	f.want(trunk, core.NaturalEnd)
	if r := f.result(trunk, "c1"); r.CallOutcome() != core.CallOutcomeChildFailed || !strings.Contains(r.Text(), "crash_loop") {
		t.Errorf("the result is %+v", r)
	}
}

// HK9: a tree that is resumed and interrupted again at once stays paused, whole.
func TestATreeThatIsInterruptedAgainStaysPaused(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "mid", `{}`)), says("ok")}},
		"mid":  {turns: []core.Turn{calls(call("m1", "leaf", `{}`)), says("mid")}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`)), says("leaf")}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	mid := f.child(trunk, "c1")
	leaf := f.child(mid, "m1")
	resume := func() {
		for id, c := range f.head(trunk).Calls {
			if c.Kind == core.KindInterrupt && c.Status == core.CallSuspended {
				f.must(f.decide(trunk, id, core.ActionResume))
			}
		}
	}
	f.must(f.send(trunk, core.KeyPause, core.Signal{Kind: core.SignalPause, ID: "stop", By: "anna"}))
	f.work()
	resume()
	f.must(f.send(trunk, core.KeyPause, core.Signal{Kind: core.SignalPause, ID: "again", By: "anna"}))
	f.work()
	f.must(f.decide(leaf, "x", core.ActionResume))
	f.work()
	for _, thread := range []string{trunk, mid, leaf} {
		if f.head(thread).Interrupt() == "" {
			t.Errorf("%s is not paused", thread)
		}
	}
	if len(f.ran) > 0 {
		t.Errorf("ran %v while paused", f.ran)
	}
	resume()
	f.work()
	f.want(leaf, core.NaturalEnd)
	f.want(trunk, core.NaturalEnd)
	if len(f.ran) != 1 {
		t.Errorf("ran %v", f.ran)
	}
}

// A result may come while the model is asked: it joins the conversation behind that turn.
func TestAResultComesWhileTheModelIsAsked(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`), call("c2", "look", `{}`)), says("meanwhile"), says("got it")}, terms: core.Terms{Continue: true}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`)), says("from the leaf")}, asks: []string{"pay"}},
	})
	meanwhile := 0
	f.asked = func(engine.Prompt) {
		if len(f.seen) < 3 || meanwhile != 0 { // the root, the leaf, the root again
			return
		}
		leaf := f.child(trunk, "c1")
		meanwhile = -1 // the leaf asks, too
		f.must(f.decide(leaf, "x", core.ActionResume))
		for range 3 {
			_, err := f.eng.Step(t.Context(), engine.Wakeup{Tenant: "t", Thread: leaf})
			f.must(err)
		}
		meanwhile = len(f.head(trunk).Inbox)
	}
	f.start("root")
	f.work()
	f.want(trunk, core.NaturalEnd)
	if meanwhile != 1 || f.result(trunk, "c1").Text() != "from the leaf" {
		t.Errorf("the result is %+v", f.result(trunk, "c1"))
	}
	if last := f.seen[len(f.seen)-1].Messages; !strings.Contains(string(core.Encode(last)), "from the leaf") {
		t.Errorf("the model saw %s", core.Encode(last))
	}
}

// What was given to children counts as spent until they end: a run that goes on meanwhile stays
// within its budget, too.
func TestARunThatGoesOnKeepsItsBudgetWhileChildrenHaveIt(t *testing.T) {
	price := &core.Price{Input: 1_000_000, Output: 1_000_000} // a dollar for a million tokens
	costs := func(turn core.Turn, tokens int64) core.Turn {
		turn.InputTokens = tokens
		return turn
	}
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{costs(calls(call("c1", "leaf", `{}`), call("c2", "look", `{}`)), 10), costs(calls(call("y", "look", `{}`)), 80), costs(calls(call("z", "look", `{}`)), 80), costs(says("ok"), 1)},
			terms: core.Terms{Continue: true, Price: price, RunCost: core.CostLimit{Most: 100}}},
		"leaf": {turns: []core.Turn{costs(calls(call("x", "pay", `{}`)), 80), costs(says("paid"), 5)}, asks: []string{"pay"}, terms: core.Terms{Price: price}},
	})
	f.start("root")
	f.work()
	if h := f.head(trunk); h.Status != core.RunWaiting || h.Cost != 10 {
		t.Errorf("the parent is %s and has spent %d of the 10 that its child left it", h.Status, h.Cost)
	}
}

// The model learns with which arguments its call of an agent ran, as with any other call.
func TestTheModelLearnsWithWhichArgumentsItsAgentRan(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{"q":"all"}`)), says("ok")}, asks: []string{"leaf"}},
		"leaf": {turns: []core.Turn{says("hi")}},
	})
	f.start("root")
	f.work()
	h := f.head(trunk)
	sus, now := h.Calls["c1"].Sus, f.clock.Now().UnixMilli()
	r := core.Resume{DecisionID: "d", Action: core.ActionResume, Arguments: []byte(`{"q":"some"}`), UpdatedAt: now}
	_, err := f.db.Signal(t.Context(), engine.SignalRequest{Tenant: "t", Thread: trunk, Run: h.Run, InboxKey: sus, Call: "c1", Suspension: sus,
		Signal: core.Signal{Kind: core.SignalDecision, Call: "c1", ID: "d", Value: core.Encode(r), At: now}, Due: now + 5000, Wake: &engine.Delay{}})
	f.must(err)
	f.work()
	f.want(trunk, core.NaturalEnd)
	if m := f.result(trunk, "c1"); string(m.RanWith) != `{"q":"some"}` {
		t.Errorf("the result is %+v", m)
	}
}

// The end of an interrupt that can't be sent may be overtaken by that of the next one. No child
// stays paused for it.
func TestAChildGoesOnAlthoughTheEndOfItsInterruptWasOvertaken(t *testing.T) {
	f, leaf := asksBelow(t)
	pause := func(id string) {
		f.must(f.send(trunk, core.KeyPause, core.Signal{Kind: core.SignalPause, ID: id, By: "anna"}))
		f.work()
	}
	resume := func() {
		for id, c := range f.head(trunk).Calls {
			if c.Kind == core.KindInterrupt && c.Status == core.CallSuspended {
				f.must(f.decide(trunk, id, core.ActionResume))
			}
		}
		f.work()
	}
	pause("first")
	failing := true
	f.store.fail = func(what, thread string) bool {
		return failing && thread == leaf && strings.HasPrefix(what, "signal ")
	}
	resume()
	pause("second")
	resume()
	failing = false
	f.later(5 * time.Minute)
	f.later(5 * time.Minute)
	f.must(f.decide(leaf, "x", core.ActionResume))
	f.work()
	f.want(trunk, core.NaturalEnd)
}
