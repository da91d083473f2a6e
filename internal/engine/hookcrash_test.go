package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// lossy is a run of one call whose process can be lost at the first write after a hook of one phase
// was called.
func lossy(t *testing.T, phase core.Phase, spec core.ToolSpec) (r *rig, p *probe, die func()) {
	r = newRig(t, calls(call("c1", "once", `{}`)), says("done"))
	r.tool("once", toolRule{effect: core.Allow, spec: spec})
	p = r.watching("p")
	p.wants(phase, adds("n", "1"))
	store := &failing{Store: r.db}
	r.store = store
	r.build(engine.Options{})
	return r, p, func() { store.next = true }
}

// failing is a store that the process dies at when it is told to.
type failing struct {
	engine.Store
	next bool // the next commit is the last thing of this process, and does not land
}

func (s *failing) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if s.next {
		s.next = false
		dies()
	}
	return s.Store.Commit(ctx, req)
}

func TestACrashBetweenAHookAndItsCommit(t *testing.T) {
	times := map[core.Phase]int{core.RunStart: 1, core.StepStart: 2, core.BeforeInference: 2, core.AfterInference: 2, core.BeforeToolExecute: 1,
		core.AfterToolExecute: 1, core.StepEnd: 2, core.RunEnd: 1}
	for _, phase := range effectPhases() {
		t.Run(phase.String()+": called again, its effects count once", func(t *testing.T) {
			r, p, die := lossy(t, phase, core.ToolSpec{})
			died, count := false, p.at[phase]
			p.at[phase] = func(v visit) (core.Effects, error) {
				if !died {
					died = true
					die()
				}
				return count(v)
			}
			r.start("hi")
			lost := false
			for range 2 { // the end of the run is in the second step
				lost = lost || r.stepOrDie()
			}
			if !lost {
				t.Fatal("the process was not lost")
			}
			r.recover()
			r.wantRun(core.RunDone, core.NaturalEnd)
			if got := p.times(phase.String()); got != times[phase]+1 {
				t.Errorf("called %d times, want %d and once again", got, times[phase])
			}
			r.wantState(core.RunScope, "n", fmt.Sprint(times[phase]))
			r.wantConversation("user: hi", "assistant[c1]", "tool(c1): once did {}", "assistant: done")
		})
	}
	t.Run("before an at-most-once body: its intent and the hook's effects are one write", func(t *testing.T) {
		r, p, _ := lossy(t, core.BeforeToolExecute, core.ToolSpec{Delivery: core.AtMostOnce})
		r.tool("once", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			r.store.(*failing).next = true
			return core.Outcome{Text: "did it"}, nil
		}})
		r.start("hi")
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		r.recover()
		r.wantRun(core.RunWaiting, 0) // a person says what happened
		r.wantState(core.RunScope, "n", "1")
		r.must(r.decide("c1", resume("d", `"did it"`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		if p.times("before_tool_execute") != 1 {
			t.Errorf("hooks were called %v", p.order())
		}
		r.wantState(core.RunScope, "n", "1")
	})
	t.Run("a process that is lost at every end of the run: the crash loop ends it all the same", func(t *testing.T) {
		r, p, die := lossy(t, core.StepEnd, core.ToolSpec{})
		p.does(core.StepEnd, func(visit) { die() })
		r.start("hi")
		for range 30 {
			if r.stepOrDie(); r.head().Status == core.RunDone {
				break
			}
			r.clock.Advance(3 * minute)
		}
		r.wantEnd(core.Failed, "crash_loop")
	})
}

// TestEffectsCountOnceWhereverTheProcessIsLost loses the process before and after every operation
// on the store, with hooks that count in every phase.
func TestEffectsCountOnceWhereverTheProcessIsLost(t *testing.T) {
	counting := func(t *testing.T, store *breaking) *rig {
		r := story(t)
		for _, name := range []string{"one", "two"} {
			p := r.watching(name)
			for _, phase := range effectPhases() {
				p.does(phase, func(v visit) { v.State.Add(core.RunScope, phase.String(), 1) })
			}
		}
		store.Store = r.db
		r.store = store
		r.build(engine.Options{})
		r.start("hi")
		r.finish()
		return r
	}
	undisturbed := &breaking{}
	want := string(core.Encode(counting(t, undisturbed).state().Run))
	for at := 1; at <= undisturbed.n; at++ {
		for name, before := range map[string]bool{"before": true, "after": false} {
			t.Run(fmt.Sprintf("lost %s operation %d", name, at), func(t *testing.T) {
				r := counting(t, &breaking{at: at, before: before, how: dies})
				r.wantRun(core.RunDone, core.NaturalEnd)
				r.wantConversation(storyEnd...)
				// A call whose body was lost is begun again, by the hooks too;
				// everything else is as without the loss.
				if got := string(core.Encode(r.state().Run)); got != want && !slices.Contains(r.reasked(), "unknown_outcome") {
					t.Errorf("the hooks counted %s, want %s", got, want)
				}
			})
		}
	}
}

// TestACrashAfterAHookRefusedOneOfSeveralCalls: the commit with the refusal contains what the hooks
// of the calls beside it wanted, so that those must not be called again when the process is lost
// before the bodies.
func TestACrashAfterAHookRefusedOneOfSeveralCalls(t *testing.T) {
	for at := 1; at < 20; at++ {
		t.Run(fmt.Sprintf("lost after operation %d", at), func(t *testing.T) {
			r := newRig(t, calls(call("c1", "once", `{}`), call("c2", "never", `{}`), call("c3", "once", `{}`)), says("done"))
			r.terms.Parallel = true
			for _, name := range []string{"once", "never"} {
				r.tool(name, toolRule{effect: core.Allow})
			}
			r.watching("p").at[core.BeforeToolExecute] = func(v visit) (core.Effects, error) {
				e := adds("n", "1")
				if v.call.Name == "never" {
					e.Refuse = "not today"
				}
				return e, nil
			}
			r.store = &breaking{Store: r.db, at: at, how: dies}
			r.build(engine.Options{})
			r.start("hi")
			r.finish()
			r.wantRun(core.RunDone, core.NaturalEnd)
			r.wantState(core.RunScope, "n", "3")
		})
	}
}

// reasked are the kinds of all waits of the run.
func (r *rig) reasked() (kinds []string) {
	for _, e := range r.events() {
		var s core.SuspendedCall
		if e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &s) == nil {
			kinds = append(kinds, s.Kind.String())
		}
	}
	return kinds
}

func TestAHookThatDoesNotReturn(t *testing.T) {
	for _, phase := range effectPhases() {
		slow := func(t *testing.T, wait func(context.Context) error) (r *rig, started chan struct{}) {
			r = newRig(t, says("done"))
			if phase == core.BeforeToolExecute || phase == core.AfterToolExecute {
				r.turns = []core.Turn{calls(call("c1", "echo", `{}`)), says("done")}
			}
			started = make(chan struct{}, 100)
			r.watching("slow").at[phase] = func(v visit) (core.Effects, error) {
				started <- struct{}{}
				return core.Effects{}, wait(v.ctx)
			}
			r.start("hi")
			return r, started
		}
		t.Run(phase.String()+": one that stops when its time is over has failed, and the run goes on", func(t *testing.T) {
			r, started := slow(t, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			for range 6 {
				r.stepThrough(started)
			}
			r.wantRun(core.RunDone, core.NaturalEnd)
			if r.count(core.EventHookFailed) == 0 {
				t.Error("its failure is not journaled")
			}
		})
		t.Run(phase.String()+": one that never returns does not keep the run from ending", func(t *testing.T) {
			r, started := slow(t, func(context.Context) error { select {} })
			for range 20 {
				r.stepThrough(started)
			}
			if h := r.head(); h.Status != core.RunDone {
				t.Errorf("the run is %s after %d claims without a commit", h.Status, h.Tries)
			}
			r.invariants()
		})
	}
}

// stepThrough does one step; each time something slow in it has started, the clock moves on.
func (r *rig) stepThrough(started <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// given up or not, the next one is due
		_, _ = r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
	}()
	for waits := true; waits; {
		select {
		case <-done:
			waits = false
		case <-started:
			r.clock.Advance(12 * time.Second) // a hook's time and its grace
		}
	}
	r.clock.Advance(3 * minute)
}
