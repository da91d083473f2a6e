package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// lost is what a process that dies panics with in these tests.
type lost struct{}

// breaking is a store in which the n-th operation goes wrong.
type breaking struct {
	engine.Store
	mu     sync.Mutex
	n      int // operations so far
	at     int // which one breaks; 0: none
	before bool
	how    func() error // what happens: panic(lost{}) or an error
	now    bool         // the next one breaks
	also   []int        // further ones that break
}

func (b *breaking) hit() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	now := b.now
	b.now = false
	return now || b.n == b.at || slices.Contains(b.also, b.n)
}

func broken[T any](b *breaking, do func() (T, error)) (T, error) {
	var zero T
	if !b.hit() {
		return do()
	}
	if b.before {
		return zero, b.how()
	}
	if v, err := do(); err != nil {
		return v, err
	}
	return zero, b.how()
}

func (b *breaking) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	return broken(b, func() (core.Head, error) { return b.Store.Claim(ctx, req) })
}

func (b *breaking) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	return broken(b, func() (engine.Written, error) { return b.Store.Commit(ctx, req) })
}

func (b *breaking) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	return broken(b, func() ([]core.Segment, error) { return b.Store.Segments(ctx, tenant, thread, from, to) })
}

func dies() error { panic(lost{}) }

// stepOrDie does one step in a process that may be lost.
func (r *rig) stepOrDie() (died bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(lost); !ok {
				panic(p)
			}
			died = true
		}
	}()
	r.step()
	return false
}

// recover lets the lease of a lost process end, and the sweep find its run.
func (r *rig) recover() {
	r.t.Helper()
	r.clock.Advance(3 * time.Minute)
	r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
	r.work()
}

// story plays a whole life: a round of three kinds of call, an approval with a question behind it,
// and an end.
func story(t *testing.T) *rig {
	r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "pay", `{}`), call("c3", "once", `{}`)), calls(call("c4", "calc", `{}`)), says("done"))
	r.ask("pay")
	r.tool("once", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}})
	return r
}

// finish plays it to the end however often the process is lost, answering as a truthful person
// would.
func (r *rig) finish() {
	r.t.Helper()
	for range 30 {
		h := r.head()
		if h.Status == core.RunDone {
			return
		}
		for id, c := range h.Calls {
			if c.Status != core.CallSuspended || len(h.Inbox) > 0 {
				continue
			}
			switch {
			case c.Kind == core.KindApproval:
				r.must(r.decide(id, resume("yes", `true`)))
			case c.Kind == core.KindUnknownOutcome && r.did(id):
				r.must(r.decide(id, resume("happened", fmt.Sprintf(`"%s did {}"`, map[string]string{"c2": "pay", "c3": "once"}[id]))))
			case c.Kind == core.KindUnknownOutcome:
				r.must(r.decide(id, resume("run it", ``)))
			}
		}
		if !r.stepOrDie() {
			r.workOrDie()
		}
		r.clock.Advance(3 * time.Minute)
		r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
		r.workOrDie()
	}
	r.t.Fatalf("the run does not end: %+v", r.head())
}

func (r *rig) workOrDie() {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(lost); !ok {
				panic(p)
			}
		}
	}()
	r.work()
}

func (r *rig) did(callID string) bool {
	for _, k := range r.keys {
		if len(k) > len("run_t_0/") && k[len("run_t_0/"):len("run_t_0/")+2] == callID {
			return true
		}
	}
	return false
}

var storyEnd = []string{"user: hi", "assistant[c1][c2][c3]", "tool(c1): echo did {}", "tool(c2): pay did {}", "tool(c3): once did {}",
	"assistant[c4]", "tool(c4): calc did {}", "assistant: done"}

func TestCrashAtEveryPoint(t *testing.T) {
	plain := story(t)
	counting := &breaking{Store: plain.db}
	plain.store = counting
	plain.build(engine.Options{})
	plain.start("hi")
	plain.finish()
	plain.wantConversation(storyEnd...)
	plain.wantRun(core.RunDone, core.NaturalEnd)
	if plain.again != 0 {
		t.Errorf("%d bodies were told that they may have begun before, and none had", plain.again)
	}
	if counting.n < 10 {
		t.Fatalf("only %d operations", counting.n)
	}
	for at := 1; at <= counting.n; at++ {
		for _, c := range []struct {
			name   string
			before bool
			how    func() error
		}{
			{"lost before", true, dies},
			{"lost after", false, dies},
			{"HF10 done, reply lost", false, func() error { return engine.ErrUnavailable }},
			{"not done, no answer", true, func() error { return engine.ErrUnavailable }},
		} {
			t.Run(fmt.Sprintf("HR6 %s operation %d of %d", c.name, at, counting.n), func(t *testing.T) {
				t.Parallel()
				r := story(t)
				r.store = &breaking{Store: r.db, at: at, before: c.before, how: c.how}
				r.build(engine.Options{})
				r.start("hi")
				r.finish()
				r.wantRun(core.RunDone, core.NaturalEnd)
				r.wantConversation(storyEnd...)
				ran := map[string]int{}
				for _, body := range r.ran {
					ran[body]++
				}
				if ran["pay{}"] != 1 || ran["once{}"] != 1 {
					t.Errorf("at most once: %v", ran)
				}
				if r.asked > 4 {
					t.Errorf("the model was asked %d times", r.asked)
				}
			})
		}
	}
}

func TestRecovery(t *testing.T) {
	t.Run("HF5 lost while a body runs: the model is not asked again", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		// claim, drain, turn, ✗ result
		b := &breaking{Store: r.db, at: 4, before: true, how: dies}
		r.store = b
		r.build(engine.Options{})
		r.start("hi")
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		r.wantRan("echo{}")
		r.wantAsked(1)
		r.recover()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("echo{}", "echo{}")
		r.wantAsked(2)
		if r.keys[0] != r.keys[1] {
			t.Errorf("the key changed: %v", r.keys)
		}
	})
	t.Run("C100 C103 a decision that was taken in but not carried out is carried out by the next owner, once", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		r.tool("pay", toolRule{effect: core.Ask, spec: core.ToolSpec{Delivery: core.AtLeastOnce}})
		r.start("hi")
		r.work()
		r.store = &breaking{Store: r.db, at: 3, how: dies} // claim, journal, drain ✗
		r.build(engine.Options{})
		r.must(r.decide("c1", resume("d", `true`)))
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallResuming})
		r.wantRan()
		r.recover()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("pay{}")
		if report := r.step(); report.Outcome != engine.Dropped {
			t.Errorf("a step on the finished run: %s", report.Outcome)
		}
		r.wantRan("pay{}")
	})
	t.Run("C101 an orphaned cancel is settled without a body or the model", func(t *testing.T) {
		c := orphan(t, map[string]core.DecisionRecord{"sus_1_a": {Suspension: "sus_1_a", Applied: true, Resume: cancelled("d", "no")}})
		if c.Head.Calls["c"].Status != core.CallCancelled {
			t.Errorf("commit %+v", c)
		}
	})
	t.Run("C102 a resuming call whose decision cannot be found fails", func(t *testing.T) {
		c := orphan(t, nil)
		if c.Head.Calls["c"].Status != core.CallFailed {
			t.Errorf("commit %+v", c)
		}
	})
	t.Run("HF7 lost in an at-most-once body: not run again, a person says what happened", func(t *testing.T) {
		for _, c := range []struct {
			name   string
			answer core.Resume
			ran    int
			text   string
		}{
			{"it happened", resume("d", `"sent"`), 1, "tool(c1): sent"},
			{"it failed", core.Resume{DecisionID: "d", Action: core.ActionResume, Error: "refused"}, 1, "tool(c1): refused"},
			{"it did not happen, run it", resume("d", ``), 2, "tool(c1): once did {}"},
			{"leave it", cancelled("d", ""), 1, "tool(c1): Cancelled: it is unknown whether the call took effect, and it was not run again."},
		} {
			r := newRig(t, calls(call("c1", "once", `{}`)), says("done"))
			r.tool("once", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}})
			// claim, drain, turn with intent, ✗ result
			r.store = &breaking{Store: r.db, at: 4, before: true, how: dies}
			r.build(engine.Options{})
			r.start("hi")
			if !r.stepOrDie() {
				t.Fatal("the process was not lost")
			}
			r.wantRan("once{}")
			r.recover()
			r.wantRun(core.RunWaiting, 0)
			if s := r.suspended("c1"); s.Kind != core.KindUnknownOutcome {
				t.Fatalf("%s: suspended as %s", c.name, s.Kind)
			}
			r.must(r.decide("c1", c.answer))
			r.work()
			r.wantRun(core.RunDone, core.NaturalEnd)
			if len(r.ran) != c.ran {
				t.Errorf("%s: ran %v", c.name, r.ran)
			}
			r.wantConversation("user: hi", "assistant[c1]", c.text, "assistant: done")
		}
	})
	t.Run("HR8 HR9 lost right after the claim: the lease ends and the sweep wakes the run", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.store = &breaking{Store: r.db, at: 1, how: dies}
		r.build(engine.Options{})
		r.start("hi")
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		if h := r.head(); h.Tries != 1 || h.Lease == 0 {
			t.Errorf("tries %d, lease %d", h.Tries, h.Lease)
		}
		if report := r.step(); report.Outcome != engine.Dropped {
			t.Errorf("claimed under a live lease: %s", report.Outcome)
		}
		r.recover()
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("a claim whose answer is lost is asked for again and granted: the step does not wait for its own lease", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.store = &breaking{Store: r.db, at: 1, how: func() error { return engine.ErrUnavailable }}
		r.build(engine.Options{})
		r.start("hi")
		if report := r.step(); report.Outcome != engine.Released {
			t.Errorf("outcome %s", report.Outcome)
		}
		r.wantRun(core.RunDone, core.NaturalEnd)
		if h := r.head(); h.Epoch != 1 {
			t.Errorf("epoch %d, want one claim", h.Epoch)
		}
	})
	t.Run("a body that kills the process each time fails as unknown after three claims; at most once, a person is asked", func(t *testing.T) {
		for _, delivery := range []core.Delivery{core.AtLeastOnce, core.AtMostOnce} {
			r := newRig(t, calls(call("c1", "bomb", `{}`), call("c2", "echo", `{}`)), says("done"))
			b := &breaking{Store: r.db, before: true, how: dies}
			r.tool("bomb", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: delivery}, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
				b.now = true
				return core.Outcome{Text: "boom"}, nil
			}})
			r.store = b
			r.build(engine.Options{})
			r.start("hi")
			deaths := 0
			for range 10 {
				if r.stepOrDie() {
					deaths++
				}
				r.clock.Advance(3 * time.Minute)
			}
			if delivery == core.AtMostOnce {
				r.wantRun(core.RunWaiting, 0)
				if s := r.suspended("c1"); s.Kind != core.KindUnknownOutcome || deaths != 1 {
					t.Errorf("suspended as %s after %d deaths", s.Kind, deaths)
				}
				continue
			}
			r.wantRun(core.RunDone, core.NaturalEnd)
			if deaths != 3 || r.count(core.EventCallFailed) != 1 || r.count(core.EventCallSucceeded) != 1 {
				t.Errorf("%d deaths, %d failed, %d succeeded", deaths, r.count(core.EventCallFailed), r.count(core.EventCallSucceeded))
			}
		}
	})
	t.Run("a run that kills the process wherever it is ends in a crash loop, its input kept", func(t *testing.T) {
		r := newRig(t, says("done"))
		b := &breaking{Store: r.db, how: dies}
		r.store = b
		r.build(engine.Options{})
		r.start("hi")
		for range 8 {
			b.at = b.n + 1
			if !r.stepOrDie() {
				t.Fatal("the process was not lost")
			}
			r.clock.Advance(3 * time.Minute)
		}
		b.at = 0
		r.step()
		r.wantRun(core.RunDone, core.Failed)
		if h := r.head(); h.End.Code != "crash_loop" {
			t.Errorf("code %q", h.End.Code)
		}
		r.wantConversation("user: hi")
		r.wantAsked(0)
	})
	t.Run("C194 the acknowledgement is lost after a success: the message comes again and nothing happens twice", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.start("hi")
		r.work()
		before := r.head()
		for range 3 {
			r.must(r.db.Send(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread}, 0))
		}
		r.work()
		if after := r.head(); after.Rev != before.Rev {
			t.Error("the finished run changed")
		}
		r.wantRan("echo{}")
	})
	t.Run("a lost wake-up costs at most two sweep periods", func(t *testing.T) {
		r := paying(t)
		h := r.head()
		_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: h.Run, InboxKey: h.Calls["c1"].Sus, Call: "c1", Suspension: h.Calls["c1"].Sus,
			Signal: core.Signal{Kind: core.SignalDecision, Call: "c1", ID: "d", Value: core.Encode(resume("d", `true`)), At: r.now()}, Due: r.now() + 5000})
		r.must(err)
		r.work()
		if r.head().Status != core.RunWaiting {
			t.Fatal("there was a wake-up after all")
		}
		r.clock.Advance(10 * time.Second)
		r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("H26 an at-most-once body does not start when the lease is nearly over", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "once", `{}`)), says("done"))
		r.tool("once", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}})
		r.store = &freezing{Store: r.db, r: r, when: func(req engine.CommitRequest) bool { return req.Next.Calls["c1"].IntentEpoch != 0 }}
		r.build(engine.Options{})
		r.start("hi")
		if _, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread}); err == nil {
			t.Error("the step went on")
		}
		r.wantRan()
		r.recover()
		if s := r.suspended("c1"); s.Kind != core.KindUnknownOutcome {
			t.Errorf("suspended as %s", s.Kind)
		}
	})
	t.Run("the version a run is pinned to is gone: the run ends and says so", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.eng = engine.New(engine.Options{Store: r.db, Waker: r.db, Agents: noAgents{}, Clock: r.clock, Random: rigRandom(t)})
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.Failed)
		if c := r.head().End.Code; c != "agent_version_missing" {
			t.Errorf("code %q", c)
		}
		r.wantConversation("user: hi")
	})
}

// orphan plans the commit for a call that is resuming and nothing else.
func orphan(t *testing.T, decisions map[string]core.DecisionRecord) *plans.Commit {
	t.Helper()
	plan, err := planner.Decide(plans.View{Round: core.Round{Calls: []core.ToolCall{call("c", "echo", `{}`)}, Decisions: decisions},
		Head: core.Head{Status: core.RunRunning, Position: core.Position{Epoch: 1},
			Stage: core.Stage{TurnOpen: true}, Calls: map[string]core.Call{"c": {Status: core.CallResuming, Wait: core.Wait{Sus: "sus_1_a"}}}},
		Rules: newRig(t), Limits: plans.DefaultLimits, Fresh: func() string { return "x" }, Put: 1, Conditions: plans.Conditions{ModelAsked: true}})
	c, ok := plan.(*plans.Commit)
	if err != nil || !ok {
		t.Fatalf("plan %#v (%v)", plan, err)
	}
	return c
}

// freezing stops the clock's owner for ten minutes, once, after a commit.
type freezing struct {
	engine.Store
	r    *rig
	when func(engine.CommitRequest) bool
	done bool
}

func (f *freezing) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	w, err := f.Store.Commit(ctx, req)
	if !f.done && f.when(req) {
		f.done = true
		f.r.clock.Advance(10 * time.Minute)
	}
	return w, err
}

type noAgents struct{}

func (noAgents) Load(context.Context, engine.Pin) (engine.Agent, error) {
	return engine.Agent{}, errors.Join(engine.ErrNotFound)
}

// Newest implements [engine.Agents].
func (noAgents) Newest(context.Context, string, string) (string, error) { return "v1", nil }
