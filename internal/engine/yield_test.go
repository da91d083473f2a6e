package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/runcontrol"
)

// queued starts another run of the agent, which no worker takes.
func (r *rig) queued(thread string) {
	r.t.Helper()
	mine := r.thread
	r.thread = thread
	r.start("me first")
	r.thread = mine
}

// polite is a run of an agent that makes way for newer ones, which are looked for in newest.
func polite(t *testing.T, newest func(*rig) engine.Newest, turns ...core.Turn) *rig {
	r := newRig(t, turns...)
	r.terms.Yield = true
	r.build(engine.Options{Newest: newest(r)})
	r.start("hi")
	r.clock.Advance(minute)
	return r
}

func inStore(r *rig) engine.Newest { return r.db }

func TestARunMakesWayForANewerOne(t *testing.T) {
	t.Run("it gives up three answers in a row, and takes the next", func(t *testing.T) {
		r := polite(t, inStore, calls(call("c1", "echo", `{}`)), says("done"))
		r.queued("thr_newer")
		r.clock.Advance(minute)
		r.patiently()
		r.wantEnd(core.NaturalEnd, "")
		r.wantRan("echo{}")
		r.wantAsked(8) // each of two steps is asked for four times
		if h := r.head(); h.Yields != 6 || h.YieldsInRow != 0 || r.count(core.EventStepReset) != 6 {
			t.Errorf("%d yields, %d in a row, %d resets", h.Yields, h.YieldsInRow, r.count(core.EventStepReset))
		}
	})
	t.Run("it gives its worker up for a while", func(t *testing.T) {
		r := polite(t, inStore, says("done"))
		r.queued("thr_newer")
		r.clock.Advance(minute)
		if report := r.step(); report.Outcome != engine.Released || report.Status != core.RunRunning {
			t.Errorf("report %+v", report)
		}
		if report := r.step(); report.Outcome != engine.Dropped {
			t.Errorf("it is worked on at once: %+v", report)
		}
	})
	for name, prepare := range map[string]func(*rig){
		"no other run":          func(*rig) {},
		"one that just started": func(r *rig) { r.queued("thr_newer") },
		"one that is worked on": func(r *rig) {
			r.queued("thr_newer")
			r.clock.Advance(minute)
			_, err := r.db.Claim(r.ctx, engine.ClaimRequest{Tenant: "t", Thread: "thr_newer", Claim: "w", Now: r.now(), LeaseEnd: r.now() + 1000, Due: r.now() + 5000, Schema: core.SchemaVersion})
			r.must(err)
		},
		"an agent that does not say so": func(r *rig) {
			r.terms.Yield = false
			r.queued("thr_newer")
			r.clock.Advance(minute)
		},
	} {
		t.Run("it goes on: "+name, func(t *testing.T) {
			r := polite(t, inStore, says("done"))
			prepare(r)
			r.work()
			r.wantEnd(core.NaturalEnd, "")
			r.wantAsked(1)
		})
	}
	t.Run("it goes on where that cannot be told, and the log says so", func(t *testing.T) {
		r := polite(t, inStore, says("done"))
		var log bytes.Buffer
		r.build(engine.Options{Newest: unlisted{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		r.work()
		r.wantEnd(core.NaturalEnd, "")
		if !strings.Contains(log.String(), "cannot say whether a newer run waits") {
			t.Errorf("log %s", &log)
		}
	})
}

// unlisted lists nothing.
type unlisted struct{}

func (unlisted) Runs(context.Context, string, string, string, int) ([]core.Record, string, error) {
	return nil, "", engine.ErrUnavailable
}

func yes(context.Context, engine.RunRef) (bool, error) { return true, nil }

func TestAGuardedControlThatFailsSaysNo(t *testing.T) {
	run := engine.RunRef{Tenant: "t", Thread: "thr_1", Run: "run_1_0", Agent: "desk"}
	for name, f := range map[string]func(context.Context, engine.RunRef) (bool, error){
		"an error":                 func(context.Context, engine.RunRef) (bool, error) { return true, errors.New("the switch is gone") },
		"a panic":                  func(context.Context, engine.RunRef) (bool, error) { panic("the switch is gone") },
		"the end of its goroutine": func(context.Context, engine.RunRef) (bool, error) { runtime.Goexit(); return true, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c := runcontrol.Guard(runcontrol.Controls{ShouldYield: f, IsCancelled: f}, enginetest.AtMilli(0), slog.New(slog.NewTextHandler(&log, nil)))
			for range 3 {
				if c.ShouldYield(t.Context(), run) || c.IsCancelled(t.Context(), run) {
					t.Fatal("it says yes")
				}
			}
			// one for each function
			if lines := strings.Count(log.String(), "a run control gave no answer"); lines != 2 {
				t.Errorf("%d lines: %s", lines, &log)
			}
		})
	}
	t.Run("a failure that comes back is logged again", func(t *testing.T) {
		var log bytes.Buffer
		answers := []error{errors.New("gone"), nil, errors.New("gone")}
		c := runcontrol.Guard(runcontrol.Controls{ShouldYield: func(context.Context, engine.RunRef) (bool, error) {
			err := answers[0]
			answers = answers[1:]
			return true, err
		}}, enginetest.AtMilli(0), slog.New(slog.NewTextHandler(&log, nil)))
		for _, want := range []bool{false, true, false} {
			if got := c.ShouldYield(t.Context(), run); got != want {
				t.Errorf("it says %v, want %v", got, want)
			}
		}
		if lines := strings.Count(log.String(), "gave no answer"); lines != 2 {
			t.Errorf("%d lines: %s", lines, &log)
		}
	})
	t.Run("no function says no", func(t *testing.T) {
		c := runcontrol.Guard(runcontrol.Controls{ShouldYield: yes}, enginetest.AtMilli(0), slog.New(slog.DiscardHandler))
		if !c.ShouldYield(t.Context(), run) || c.IsCancelled(t.Context(), run) {
			t.Error("not what the functions say")
		}
		if c := runcontrol.Guard(runcontrol.Controls{}, enginetest.AtMilli(0), nil); c != nil {
			t.Errorf("a control of nothing: %v", c)
		}
	})
}

func TestAGuardedControlIsNotWaitedFor(t *testing.T) {
	run := engine.RunRef{Tenant: "t", Run: "run_1_0"}
	clock := enginetest.AtMilli(0)
	var log bytes.Buffer
	asked, answer := make(chan context.Context), make(chan bool)
	c := runcontrol.Guard(runcontrol.Controls{IsCancelled: func(ctx context.Context, _ engine.RunRef) (bool, error) {
		asked <- ctx
		return <-answer, nil
	}}, clock, slog.New(slog.NewTextHandler(&log, nil)))
	came := make(chan bool)
	go func() { came <- c.IsCancelled(t.Context(), run) }()
	ctx := <-asked
	clock.Advance(time.Second)
	if <-came {
		t.Error("an answer that did not come is a yes")
	}
	<-ctx.Done() // its context ends: the answer isn't needed
	if c.IsCancelled(t.Context(), run) {
		t.Error("it was asked again, and said yes") // or this test would hang in asked
	}
	go func() { came <- c.IsCancelled(t.Context(), engine.RunRef{Tenant: "t", Run: "run_2_0"}) }()
	<-asked // about another run it is
	answer <- true
	answer <- true
	<-came
	if !strings.Contains(log.String(), "it took too long") {
		t.Errorf("log %s", &log)
	}
}

// A run whose control is broken ends as it does without one.
func TestARunUnderABrokenControl(t *testing.T) {
	broken := func(context.Context, engine.RunRef) (bool, error) { panic("no luck") }
	r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
	r.build(engine.Options{Control: runcontrol.Guard(runcontrol.Controls{ShouldYield: broken, IsCancelled: broken}, r.clock, slog.New(slog.DiscardHandler))})
	r.play()
	r.wantEnd(core.NaturalEnd, "")
	r.wantRan("echo{}")
	r.wantAsked(2)
}

// A control that has not answered does not hold the result of a body up.
func TestAControlThatStandsStillHoldsNoResultUp(t *testing.T) {
	r := newRig(t, calls(call("c1", "slow", `{}`)), says("done"))
	c := &stuck{asked: make(chan struct{}), leave: make(chan struct{})}
	r.build(engine.Options{Watch: time.Second, Control: c})
	started := make(chan struct{})
	r.tool("slow", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
		c.stands.Store(true)
		close(started)
		<-c.asked
		c.stands.Store(false) // for the next request
		return core.Outcome{Text: "slow"}, nil
	}})
	r.start("hi")
	done := make(chan struct{})
	go func() { defer close(done); r.step() }()
	<-started
	go r.clock.Advance(time.Second)
	<-done // this test hangs if the watch holds on to what the result needs
	close(c.leave)
	if got := r.resultOf("c1"); got != "slow" {
		t.Errorf("result %q", got)
	}
}

// stuck is a control that cancels nothing and, while it stands, does not answer.
type stuck struct {
	stands       atomic.Bool
	asked, leave chan struct{}
}

func (*stuck) ShouldYield(context.Context, engine.RunRef) bool { return false }

func (s *stuck) IsCancelled(context.Context, engine.RunRef) bool {
	if s.stands.Load() {
		close(s.asked)
		<-s.leave
	}
	return false
}
