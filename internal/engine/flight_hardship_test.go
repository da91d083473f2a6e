package engine_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// background does a step in a context of its own and gives its error; kill loses the process, as
// far as the engine can tell.
func (l *longRound) background() (kill func(), over <-chan error) {
	ctx, kill := context.WithCancel(l.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := l.eng.Step(ctx, engine.Wakeup{Tenant: "t", Thread: l.thread})
		done <- err
	}()
	return kill, done
}

// until moves the clock until the step is over.
func (l *longRound) until(over <-chan error) error {
	for {
		select {
		case err := <-over:
			return err
		default:
			l.clock.Advance(100 * time.Millisecond)
		}
	}
}

func TestALeaseThatIsOverBesideABodyLosesNoOutcome(t *testing.T) {
	l := newLongRound(t, true, calls(call("c1", "pay", `{}`), call("s", "slow", `{}`)))
	var ran atomic.Int32
	l.tool("slow", toolRule{effect: core.Allow, body: func(ctx context.Context, _ engine.ToolRequest) (core.Outcome, error) {
		if ran.Add(1) == 1 {
			close(l.started)
			<-ctx.Done()
		}
		return core.Outcome{Text: "slow did it"}, nil
	}})
	clock := &ahead{Clock: l.clock}
	l.store = &jumping{Store: l.db, jump: func() { clock.by = time.Hour }}
	l.eng = engine.New(engine.Options{Store: l.store, Waker: l.db, Agents: l.rig, Clock: clock, Random: l.random})
	l.start("hi")
	_, over := l.background()
	<-l.started
	l.must(l.decide("c1", resume("d", `true`)))
	l.seen() // and the clock stands still: a body that is asked to stop has little time
	if err := <-over; err == nil {
		t.Error("a body was begun at the end of its lease")
	}
	clock.by = 0
	if got := l.head(); got.Calls["s"].Status != core.CallSucceeded || got.Lease != 0 {
		t.Errorf("a body has ended while its owner lived, and its call is %s; lease %d", got.Calls["s"].Status, got.Lease)
	}
	l.step()
	if ran.Load() != 1 {
		t.Errorf("the body ran %d times, and no process was lost", ran.Load())
	}
	if c := l.head().Calls["c1"]; c.Kind != core.KindUnknownOutcome || c.Status != core.CallSuspended {
		t.Errorf("an intent without a body: %+v", c)
	}
}

func TestWhatAStoppedBodyWroteDoesNotTakeTheEndBack(t *testing.T) {
	l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`), call("w", "write", `{}`), call("o", "one", `{}`)))
	l.writer()
	l.tool("write", toolRule{effect: core.Allow, body: func(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
		<-ctx.Done()
		return core.Outcome{Text: "written"}, req.State.Set(core.RunScope, "m", 1)
	}})
	l.tool("pay", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
		if s.Get(core.RunScope, "n") != nil && s.Get(core.RunScope, "m") == nil {
			return core.Verdict{Effect: core.Block, Reason: "not after one"}
		}
		return core.Verdict{Effect: core.Ask}
	}})
	l.start("hi")
	l.whileSlow(func() {
		l.written()
		l.must(l.decide("p", resume("d", `true`)))
	})
	l.work()
	l.wantRun(core.RunDone, core.Blocked)
	for _, body := range []string{"slow{}", "write{}"} {
		if n := len(slices.DeleteFunc(slices.Clone(l.ran), func(ran string) bool { return ran != body })); n != 1 {
			t.Errorf("%s began %d times", body, n)
		}
	}
}

func TestAnOutcomeThatMustNotBeLostDoesNotWaitForTheSlowest(t *testing.T) {
	l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`)))
	l.start("hi")
	kill, over := l.background()
	<-l.started
	l.must(l.decide("p", resume("d", `true`)))
	l.seen()
	for l.head().Calls["p"].Status != core.CallSucceeded {
		select {
		case err := <-over:
			t.Fatalf("the step is over, %v, and the call is %s", err, l.head().Calls["p"].Status)
		default:
		}
	}
	kill()
	l.until(over)
	l.clock.Advance(10 * time.Minute)
	l.started = make(chan struct{})
	close(l.release)
	l.step()
	l.work()
	l.wantRan("slow{}", "pay{}", "slow{}")
	l.wantRun(core.RunDone, core.NaturalEnd)
}

// A commit beside a body does not say that it runs: the owner after a crash asks its gate again, on
// the state of that moment.
func TestABodyThatWasInFlightAsksItsGateAgainAfterACrash(t *testing.T) {
	l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`), call("o", "one", `{}`)))
	l.writer()
	slow := l.tools["slow"]
	slow.gate = func(_ core.ToolCall, s core.State) core.Verdict {
		if s.Get(core.RunScope, "n") != nil {
			return core.Verdict{Effect: core.Deny, Reason: "not after one"}
		}
		return core.Verdict{Effect: core.Allow}
	}
	l.tools["slow"] = slow
	l.start("hi")
	kill, over := l.background()
	<-l.started
	l.written()
	l.must(l.decide("p", cancelled("d", "no")))
	l.applied()
	kill()
	l.until(over)
	l.clock.Advance(10 * time.Minute)
	l.step()
	l.work()
	l.wantRun(core.RunDone, core.NaturalEnd)
	if n := len(slices.DeleteFunc(slices.Clone(l.ran), func(ran string) bool { return ran != "slow{}" })); n != 1 {
		t.Errorf("the body ran %d times, on a state on which its gate forbids it", n)
	}
}

func TestReadersBehindACommitHearWhatRuns(t *testing.T) {
	live := &listener{}
	l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("q", "pay", `{}`), call("s", "slow", `{}`)))
	l.build(engine.Options{Live: live})
	l.start("hi")
	l.whileSlow(func() {
		l.must(l.decide("p", cancelled("d", "no")))
		l.applied()
		// the store has the commit before readers hear of it; a body that ends in between
		// doesn't run any more
		for end := time.Now().Add(20 * time.Second); strings.Count(strings.Join(live.heard(), "; "), "slow begins") < 2 && time.Now().Before(end); {
			runtime.Gosched()
		}
		close(l.release)
	})
	heard := strings.Join(live.heard(), "; ")
	if before, behind, cut := strings.Cut(heard, "; end "); !cut || !strings.Contains(before, "slow begins") || !strings.Contains(behind, "slow begins") {
		t.Errorf("no commit says that the body runs, and readers heard: %s", heard)
	}
}

func TestACancelSaysThatALostBodyMayHaveRun(t *testing.T) {
	for _, drained := range []bool{false, true} {
		l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("q", "pay", `{}`), call("s", "slow", `{}`)))
		l.start("hi")
		kill, over := l.background()
		<-l.started
		if drained {
			l.must(l.decide("p", cancelled("d", "no")))
			l.applied()
		}
		kill()
		l.until(over)
		l.clock.Advance(10 * time.Minute)
		l.must(l.cancel())
		l.step()
		l.wantRun(core.RunDone, core.Cancelled)
		said := map[string]bool{}
		for _, e := range l.events() {
			if e.Type == core.EventCallCancelled {
				for _, id := range []string{"p", "q", "s"} {
					said[id] = said[id] || strings.Contains(string(e.Data), `"`+id+`"`) && strings.Contains(string(e.Data), "may_have_run")
				}
			}
		}
		if !said["s"] || said["p"] || said["q"] {
			t.Errorf("drained %v: said to perhaps have run: %v", drained, said)
		}
	}
}

// refusing is a store that is unavailable for the first commits of decisions.
type refusing struct {
	engine.Store
	times atomic.Int32
}

func (s *refusing) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if len(req.Drained) > 0 && s.times.Add(-1) >= 0 {
		return engine.Written{}, errors.Join(engine.ErrUnavailable, errors.New("it is away"))
	}
	return s.Store.Commit(ctx, req)
}

func TestAStoreThatIsAwayForAMomentStopsNoBodies(t *testing.T) {
	l := newLongRound(t, true, calls(call("p", "pay", `{}`), call("s", "slow", `{}`)))
	store := &refusing{Store: l.db}
	l.store = store
	l.build(engine.Options{})
	l.start("hi")
	l.whileSlow(func() {
		store.times.Store(10) // more than the retries of a second
		l.must(l.decide("p", cancelled("d", "no")))
		l.drained()
	})
	l.work()
	if l.stopped != nil {
		t.Errorf("the body was stopped: %v", l.stopped)
	}
	l.wantRan("slow{}")
	l.wantRun(core.RunDone, core.NaturalEnd)
}
