package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// down makes the model fail until the outage ends; 0: it never does.
func (r *rig) down(lasts time.Duration) {
	from := r.clock.Now()
	r.onAsk = func(context.Context, engine.Prompt) error {
		if lasts > 0 && r.clock.Now().Sub(from) >= lasts {
			return nil
		}
		return &engine.TryLater{Detail: "the endpoint refused the connection", Cause: context.DeadlineExceeded}
	}
}

// waitOut works whenever an attempt is due, until the run does not wait for its model any more, and
// returns the pauses in seconds.
func (r *rig) waitOut() (pauses []float64) {
	r.t.Helper()
	for range 500 {
		r.work()
		h := r.head()
		if h.Outage == nil || h.Status != core.RunRunning {
			return pauses
		}
		pause := time.Duration(h.NotBefore-r.now()) * time.Millisecond
		pauses = append(pauses, pause.Seconds())
		r.clock.Advance(pause)
	}
	r.t.Fatal("the outage does not end")
	return nil
}

func TestAnOutageOfHours(t *testing.T) {
	t.Run("right after an approved change: the change stays, runs once, and the run goes on when the model is back", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{"amount":120}`)), says("paid"))
		r.ask("pay")
		r.play()
		r.must(r.decide("c1", resume("d", `true`)))
		r.down(9 * time.Hour)
		pauses := r.waitOut()
		r.wantEnd(core.NaturalEnd, "")
		r.wantRan(`pay{"amount":120}`)
		r.wantConversation("user: hi", "assistant[c1]", `tool(c1): pay did {"amount":120}`, "assistant: paid")
		if h := r.head(); h.Outage != nil || h.ModelTries != 0 || h.Tries != 0 {
			t.Errorf("after the outage: %+v", h)
		}
		if n := len(pauses); n < 30 || n > 90 {
			t.Errorf("%d attempts in 9 hours", n)
		}
	})
	t.Run("the pauses grow with jitter up to 15 minutes, and each is told with its time", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.down(4 * time.Hour)
		r.start("hi")
		pauses := r.waitOut()
		for i, s := range pauses {
			if whole := min(900, float64(int64(2)<<min(i, 20))); s < whole/2 || s > whole {
				t.Errorf("pause %d is %v s, want %v to %v", i, s, whole/2, whole)
			}
		}
		tries := r.resets()
		if len(tries) != len(pauses) || tries[len(tries)-1].Try != len(pauses) {
			t.Errorf("%d pauses were told as %+v", len(pauses), tries)
		}
		for _, told := range tries {
			if told.Code != "model_unavailable" || told.Text != "the endpoint refused the connection" || told.TryAt <= 0 {
				t.Errorf("told %+v", told)
			}
		}
	})
	t.Run("two runs that failed together are not asked again together", func(t *testing.T) {
		at := map[int64]bool{}
		for _, thread := range []string{"thr_a", "thr_b", "thr_c"} {
			r := newRig(t, says("done"))
			r.thread = thread
			r.down(0)
			r.start("hi")
			r.work()
			at[r.head().NotBefore] = true
		}
		if len(at) != 3 {
			t.Errorf("three runs try again at %v", at)
		}
	})
}

type reset struct {
	Code, Text string
	Try        int
	TryAt      int64 `json:"try_at"`
}

func (r *rig) resets() (resets []reset) {
	for _, e := range r.events() {
		var told reset
		if e.Type == core.EventStepReset {
			r.must(json.Unmarshal(e.Data, &told))
			resets = append(resets, told)
		}
	}
	return resets
}

func TestTheBoundOfAnOutage(t *testing.T) {
	for _, tt := range []struct {
		name string
		own  time.Duration // of the definition
		want time.Duration
	}{{"a day", 0, 24 * time.Hour}, {"what the agent says", 20 * time.Minute, 20 * time.Minute}, {"less than the first pause", time.Second, time.Second}} {
		t.Run(tt.name+" from the first failure on, the last attempt at its end", func(t *testing.T) {
			r := newRig(t)
			r.terms.Outage = tt.own.Milliseconds()
			r.down(0)
			r.start("hi")
			began := r.clock.Now()
			r.waitOut()
			r.wantEnd(core.Failed, "model_unavailable")
			if took := r.clock.Now().Sub(began); took != tt.want {
				t.Errorf("it ended after %s, want %s", took, tt.want)
			}
			if d := r.head().End.Detail; !strings.Contains(d, "model.outage") || !strings.HasSuffix(d, "the endpoint refused the connection") {
				t.Errorf("the detail is %q", d)
			}
			if h := r.head(); h.Outage != nil {
				t.Errorf("a run that is done still waits: %+v", h.Outage)
			}
		})
	}
	t.Run("an answer begins it anew", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.terms.Outage = time.Hour.Milliseconds()
		r.down(50 * time.Minute)
		r.start("hi")
		r.step()
		for r.head().Step == 0 {
			r.clock.Advance(time.Minute)
			r.work()
		}
		r.down(50 * time.Minute)
		r.waitOut()
		r.wantEnd(core.NaturalEnd, "")
	})
	t.Run("a turn that made way for others begins it anew", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.down(time.Minute)
		r.build(engine.Options{Control: &control{yields: 1}})
		r.start("hi")
		r.waitOut()
		if h := r.head(); h.Yields != 1 || h.Outage != nil || h.ModelTries != 0 {
			t.Errorf("after an answer that was dropped: %+v", h)
		}
	})
	t.Run("a person who interrupts and resumes begins it anew, and the model is asked at once", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.terms.Outage = time.Hour.Milliseconds()
		r.down(72*time.Hour + 10*time.Minute)
		r.start("hi")
		r.work()
		r.must(r.interrupt("p1"))
		r.work()
		r.wantRun(core.RunWaiting, 0)
		if h := r.head(); h.Outage != nil {
			t.Errorf("a run that waits for a person waits for its model: %+v", h.Outage)
		}
		r.clock.Advance(72 * time.Hour)
		asked := r.asked
		r.must(r.decide(r.waitsOn(core.KindInterrupt), resume("d", `null`)))
		r.work()
		r.wantAsked(asked + 1)
		r.waitOut()
		r.wantEnd(core.NaturalEnd, "")
	})
}

func (r *rig) waitsOn(kind core.Kind) string {
	for id, c := range r.head().Calls {
		if c.Kind == kind && c.Status == core.CallSuspended {
			return id
		}
	}
	r.t.Fatalf("nothing waits as %s", kind)
	return ""
}

func TestDuringAnOutage(t *testing.T) {
	late := func(t *testing.T, turns ...core.Turn) *rig { // one that waits for minutes already
		r := newRig(t, turns...)
		r.down(6 * time.Hour)
		r.start("hi")
		for range 9 {
			r.work()
			r.clock.Advance(time.Duration(r.head().NotBefore-r.now()) * time.Millisecond)
		}
		r.work()
		if h := r.head(); h.Outage == nil || h.NotBefore-r.now() < 5*60_000 {
			t.Fatalf("not in the midst of an outage: %+v", h)
		}
		return r
	}
	t.Run("a cancel ends the run at once", func(t *testing.T) {
		r := late(t)
		asked, now := r.asked, r.now()
		r.must(r.cancel())
		r.work()
		r.wantEnd(core.Cancelled, "")
		r.wantAsked(asked)
		if r.now() != now {
			t.Error("the cancel waited")
		}
	})
	t.Run("a message is taken up at once, neither loses nor doubles anything, and brings no attempt forward", func(t *testing.T) {
		r := late(t, says("done"))
		before := r.head()
		r.must(r.say("m1", "hello?"))
		r.work()
		h := r.head()
		if len(h.Inbox) > 0 || h.NotBefore != before.NotBefore || h.Outage == nil || *h.Outage != *before.Outage || h.ModelTries != before.ModelTries {
			t.Errorf("after the message: %+v", h)
		}
		r.waitOut()
		r.wantEnd(core.NaturalEnd, "")
		r.wantConversation("user: hi", "user: hello?", "assistant: done")
	})
	t.Run("an interrupt that comes while the model is asked counts with that failure", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.start("hi")
		r.onAsk = func(context.Context, engine.Prompt) error {
			r.must(r.interrupt("p1"))
			return engine.ErrTryAgain
		}
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(1)
	})
	t.Run("an approval that comes while the model is asked runs at once, though the model is down", func(t *testing.T) {
		for _, slow := range []time.Duration{0, 109 * time.Second} {
			r := newRig(t, calls(call("c1", "pay", `{}`), call("c2", "echo", `{}`)), says("I wait."), says("done"))
			r.ask("pay")
			r.terms.Continue = true
			now := int64(0)
			r.onAsk = func(context.Context, engine.Prompt) error {
				if r.asked != 2 {
					return nil
				}
				r.must(r.decide("c1", resume("d", `true`)))
				r.clock.Advance(slow)
				now = r.now()
				return &engine.TryLater{Detail: "down", After: 15 * time.Minute}
			}
			r.start("hi")
			r.work()
			if ran := strings.Join(r.ran, " "); ran != "echo{} pay{}" || r.now() != now {
				t.Errorf("after an attempt of %s: %d ms later, ran %s", slow, r.now()-now, ran)
			}
		}
	})
	// a call that waits by itself for 5 minutes at most, one held behind it, and a model that
	// goes on
	waitsBeside := func(t *testing.T) *rig {
		r := newRig(t, calls(call("c0", "calc", `{}`), call("c1", "form", `{}`), call("c2", "echo", `{}`)), says("done"))
		r.suspending("form", core.UseDecisionAsToolResult, 1)
		r.deadlines = map[core.Kind]core.Deadline{core.KindInput: {Within: 5 * 60_000}}
		r.terms.Continue = true
		return r
	}
	t.Run("a deadline that passes while the model is asked lets the next call run at once", func(t *testing.T) {
		r := waitsBeside(t)
		r.build(engine.Options{Lease: 10 * time.Minute})
		now := int64(0)
		r.onAsk = func(context.Context, engine.Prompt) error {
			if r.asked < 2 {
				return nil
			}
			r.clock.Advance(6 * time.Minute)
			now = r.now()
			return &engine.TryLater{Detail: "down", After: 15 * time.Minute}
		}
		r.tool("echo", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			if r.now() != now {
				t.Errorf("it ran %d ms after the failure", r.now()-now)
			}
			return core.Outcome{Text: "ok"}, nil
		}})
		r.start("hi")
		r.step()
		for range 1500 {
			if len(r.ran) == 3 {
				return
			}
			r.step()
			r.clock.Advance(time.Second)
		}
		t.Errorf("ran %v", r.ran)
	})
	t.Run("a deadline that passes between two attempts is used when it passes", func(t *testing.T) {
		r := waitsBeside(t)
		r.onAsk = func(context.Context, engine.Prompt) error {
			if r.asked < 2 {
				return nil
			}
			return &engine.TryLater{Detail: "down", After: 15 * time.Minute}
		}
		r.start("hi")
		r.work()
		due := r.head().Deadline
		if h := r.head(); h.Outage == nil || h.NotBefore != due {
			t.Fatalf("asked again at %d, and the deadline is at %d", h.NotBefore, due)
		}
		r.clock.Advance(time.Duration(due-r.now()) * time.Millisecond)
		r.work()
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallFailed})
	})
	t.Run("no time of it counts as awake", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.stopping(t, stoprule.Spec{Type: "timeout", Seconds: 60})
		r.start("hi")
		r.down(5 * time.Hour)
		asks := r.onAsk
		r.onAsk = func(ctx context.Context, p engine.Prompt) error {
			r.clock.Advance(20 * time.Second) // as one that hangs
			return asks(ctx, p)
		}
		r.waitOut()
		r.wantEnd(core.NaturalEnd, "")
		// of the first attempt, and of the second turn
		if awake := r.head().Awake; awake != 40_000 {
			t.Errorf("%d ms awake", awake)
		}
	})
	t.Run("lost processes are not counted together with failures of the model", func(t *testing.T) {
		r := late(t, says("done"))
		if h := r.head(); h.Tries != 0 {
			t.Errorf("%d claims are counted", h.Tries)
		}
		r.waitOut()
		r.wantEnd(core.NaturalEnd, "")
	})
}

func TestAnAnswerThatIsNoTurnIsNoOutage(t *testing.T) {
	t.Run("a few are asked for, then the run ends", func(t *testing.T) {
		r := newRig(t)
		r.onAsk = func(context.Context, engine.Prompt) error {
			return &engine.TryLater{Detail: "the answer was malformed", Answered: true}
		}
		r.start("hi")
		began := r.clock.Now()
		r.waitOut()
		r.wantEnd(core.Failed, "model_error")
		r.wantAsked(plans.DefaultLimits.ModelTries)
		if d := r.head().End.Detail; d != "the answer was malformed" {
			t.Errorf("the detail is %q", d)
		}
		if took := r.clock.Now().Sub(began); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
	t.Run("failures to answer between them are not counted with them", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.onAsk = func(context.Context, engine.Prompt) error {
			if r.asked > 12 {
				return nil
			}
			return &engine.TryLater{Detail: "no luck", Answered: r.asked%3 == 0}
		}
		r.start("hi")
		r.waitOut()
		r.wantEnd(core.NaturalEnd, "")
	})
	t.Run("one that the time of its activation cuts short is no outage, whether or not a reader looks on", func(t *testing.T) {
		for _, live := range []engine.Live{nil, &listener{}} {
			r := newRig(t)
			r.build(engine.Options{Live: live})
			r.takesTooLong(func(cause error) error { return &engine.CutShort{Cause: cause} })
			r.wantEnd(core.Failed, "model_error")
			r.wantAsked(plans.DefaultLimits.ModelTries)
		}
	})
	t.Run("a model that is silent for all of its activation is an outage", func(t *testing.T) {
		r := newRig(t)
		r.terms.Outage = time.Hour.Milliseconds()
		r.takesTooLong(func(cause error) error { return cause })
		r.wantEnd(core.Failed, "model_unavailable")
	})
}

// takesTooLong plays a run whose model always needs more than the time of an activation.
func (r *rig) takesTooLong(stopped func(cause error) error) {
	r.onAsk = func(ctx context.Context, _ engine.Prompt) error {
		for ctx.Err() == nil {
			r.clock.Advance(time.Second)
		}
		return stopped(context.Cause(ctx))
	}
	r.start("hi")
	r.waitOut()
}
