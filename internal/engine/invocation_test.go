package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// invocation is the context of a function that is stopped at a time of the test's clock.
type invocation struct {
	context.Context
	deadline time.Time
}

func (i invocation) Deadline() (time.Time, bool) { return i.deadline, true }

func (r *rig) invoke(left time.Duration) (engine.Report, error) {
	return r.eng.Step(invocation{r.ctx, r.clock.Now().Add(left)}, engine.Wakeup{Tenant: "t", Thread: r.thread})
}

func TestTheDeadlineOfAnInvocation(t *testing.T) {
	const margin, skew = 15 * time.Second, 30 * time.Second
	build := func(r *rig) {
		r.build(engine.Options{Lease: time.Hour, Margin: margin, Skew: skew, Grain: time.Minute})
	}
	t.Run("the lease ends behind it by what clocks may differ", func(t *testing.T) {
		r := newRig(t, says("done"))
		build(r)
		began := r.clock.Now()
		r.onAsk = func(context.Context, engine.Prompt) error {
			h := r.head()
			if want := began.Add(2*time.Minute + skew).UnixMilli(); h.Lease != want {
				t.Errorf("the lease ends %d ms from where it should", h.Lease-want)
			}
			if h.Due < h.Lease || h.Due%time.Minute.Milliseconds() != 0 {
				t.Errorf("due at %d, with a lease until %d", h.Due, h.Lease)
			}
			return nil
		}
		r.start("go")
		report, err := r.invoke(2 * time.Minute)
		r.must(err)
		r.wantAsked(1)
		if report.Outcome != engine.Released || report.Attempt != 1 || report.TookOver {
			t.Errorf("%+v", report)
		}
	})
	t.Run("with too little time left nothing is claimed, and the message is to come again", func(t *testing.T) {
		r := newRig(t, says("done"))
		build(r)
		r.start("go")
		before := r.head()
		if _, err := r.invoke(2*margin - time.Second); !errors.Is(err, engine.ErrNoTime) {
			t.Errorf("got %v", err)
		}
		if h := r.head(); h.Rev != before.Rev || h.Epoch != before.Epoch {
			t.Errorf("the head was written: %+v", h)
		}
	})
	t.Run("a model call is stopped a margin before it, and that is written down", func(t *testing.T) {
		r := newRig(t, says("done"))
		build(r)
		began := r.clock.Now()
		r.onAsk = func(ctx context.Context, _ engine.Prompt) error {
			if r.asked > 1 {
				return nil
			}
			r.clock.Advance(2*time.Minute - margin)
			<-ctx.Done()
			return ctx.Err()
		}
		r.start("go")
		report, err := r.invoke(2 * time.Minute)
		r.must(err)
		if h := r.head(); report.Status != core.RunRunning || h.Lease != 0 || h.ModelTries != 1 || h.NotBefore == 0 {
			t.Errorf("%+v, head %+v", report, h)
		}
		if took := r.clock.Now().Sub(began); took >= 2*time.Minute {
			t.Errorf("it took %s", took)
		}
		r.clock.Advance(time.Minute)
		r.work()
		r.wantEnd(core.NaturalEnd, "")
	})
}

// deaf is a queue that takes nothing.
type deaf struct{}

func (deaf) Send(context.Context, engine.Wakeup, time.Duration) error {
	return engine.ErrUnavailable
}

// mute is a store that leaves wake-ups to the queue.
type mute struct{ engine.Store }

func (s mute) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	req.Wake = nil
	return s.Store.Commit(ctx, req)
}

func TestAWakeUpThatCannotBeSentBringsTheMessageAgain(t *testing.T) {
	r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
	r.eng = engine.New(engine.Options{Store: mute{r.db}, Waker: deaf{}, Agents: r, Clock: restless{r.clock}, Random: r.random})
	r.start("go")
	report, err := r.invoke(time.Minute)
	if !errors.Is(err, engine.ErrUnavailable) || report.Status != core.RunRunning {
		t.Errorf("%+v, %v", report, err)
	}
	if h := r.head(); h.Lease != 0 || h.Due == 0 || h.Step != 1 {
		t.Errorf("the step is not released: %+v", h)
	}
	// the same message
	if report, err := r.invoke(time.Minute); err != nil || report.Status != core.RunDone {
		t.Errorf("%+v, %v", report, err)
	}
	r.wantAsked(2)
	r.wantRan("echo{}")
}

func TestARunThatGoesOnChangesItsDueTimeOnceAGrainAndNotTwiceAStep(t *testing.T) {
	const steps = 20
	var turns []core.Turn
	for i := range steps {
		turns = append(turns, calls(call(fmt.Sprint("c", i), "echo", `{}`)))
	}
	r := newRig(t, append(turns, says("done"))...)
	r.build(engine.Options{Lease: 2 * time.Minute, Grain: time.Minute})
	r.start("go")
	var dues []int64
	for h := r.head(); h.Open(); h = r.head() {
		r.step()
		dues = append(dues, r.head().Due)
		r.clock.Advance(time.Second)
	}
	r.wantEnd(core.NaturalEnd, "")
	if changes := len(slices.Compact(dues)) - 1; len(dues) != steps+1 || changes > 2 {
		t.Errorf("in %d steps of a second the due time changed %d times: %v", len(dues), changes, dues)
	}
}

// spans notes what is begun and ended.
type spans struct{ log []string }

func (s *spans) Begin(ctx context.Context, name string) (context.Context, func(error)) {
	s.log = append(s.log, name)
	return ctx, func(err error) {
		if err != nil {
			s.log = append(s.log, name+" failed")
		}
	}
}

func TestAStepIsTracedAndAccountedFor(t *testing.T) {
	traced := &spans{}
	turn := calls(call("c1", "echo", `{}`))
	turn.InputTokens, turn.OutputTokens = 70, 9
	r := newRig(t, turn, calls(call("c2", "pay", `{}`)), says("done"))
	r.ask("pay")
	r.build(engine.Options{Tracer: traced})
	r.start("go")
	first := r.step()
	if want := []string{"claim", "commit", "model", "commit", "tool echo", "commit"}; !slices.Equal(traced.log, want) {
		t.Errorf("traced %q, want %q", traced.log, want)
	}
	if first.InputTokens != 70 || first.OutputTokens != 9 || first.Bodies != 1 || !first.Asked || first.Step != 1 || first.Thread != r.thread {
		t.Errorf("%+v", first)
	}
	r.work()
	r.clock.Advance(time.Hour)
	r.must(r.decide("c2", resume("d", `{"approved":true}`)))
	r.clock.Advance(5 * time.Second)
	if last := r.step(); last.Decided < 5*time.Second || last.Decided > 6*time.Second || first.Decided != 0 || last.Waited < time.Hour || last.Waited > time.Hour+time.Minute || last.InputTokens != 0 || last.TookOver {
		t.Errorf("%+v", last)
	}
}
