package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// outage is a program that cannot serve its agent while it lasts.
type outage struct {
	*rig
	lasts bool
}

func (o *outage) Load(ctx context.Context, pin engine.Pin) (engine.Agent, error) {
	if o.lasts {
		return engine.Agent{}, &engine.AgentUnavailableError{Name: pin.Name, Reason: "the secret PAY_TOKEN is not set"}
	}
	return o.rig.Load(ctx, pin)
}

// unserved is a rig whose agent can be taken away.
func unserved(t *testing.T, turns ...core.Turn) (*rig, *outage, *bytes.Buffer) {
	r, log := newRig(t, turns...), &bytes.Buffer{}
	r.ask("pay")
	agents := &outage{rig: r}
	r.eng = engine.New(engine.Options{Store: r.db, Waker: r.db, Agents: agents, Clock: restless{r.clock}, Random: r.random,
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	return r, agents, log
}

// passes lets time go by, with sweeps.
func (r *rig) passes(d time.Duration) {
	r.t.Helper()
	for end := r.clock.Now().Add(d); r.clock.Now().Before(end); {
		r.clock.Advance(5 * time.Second)
		r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
		r.work()
	}
}

func TestADecisionOnARunWhoseAgentIsUnavailableWaitsAndIsAppliedOnce(t *testing.T) {
	r, agents, log := unserved(t, calls(call("c1", "pay", `{}`)), says("done"))
	r.start("hi")
	r.work()
	r.wantRun(core.RunWaiting, 0)
	agents.lasts = true
	r.must(r.decide("c1", resume("d", `true`)))
	r.passes(time.Hour) // far more looks than a crash loop has claims
	r.wantRan()
	if h := r.head(); h.Status != core.RunRunning || h.End != nil || len(h.Inbox) != 1 || h.Due == 0 || h.Lease != 0 || h.Calls["c1"].Status != core.CallSuspended {
		t.Fatalf("the run is %s, %+v, inbox %v, due %d", h.Status, h.End, h.Inbox, h.Due)
	}
	if seq, looks := r.head().Seq, strings.Count(log.String(), "PAY_TOKEN"); looks < 60 || looks > 200 || seq > 5 {
		t.Errorf("%d looks in an hour, and %d segments", looks, seq)
	}
	agents.lasts = false
	r.passes(time.Minute)
	r.wantRun(core.RunDone, core.NaturalEnd)
	r.wantRan("pay{}")
}

func TestARunThatWaitsForItsAgentCanBeCancelled(t *testing.T) {
	r, agents, _ := unserved(t, calls(call("c1", "pay", `{}`)), says("done"))
	r.start("hi")
	r.work()
	agents.lasts = true
	r.must(r.cancel())
	r.passes(10 * time.Second)
	r.wantRun(core.RunDone, core.Cancelled)
	r.wantRan()
	var skipped []string
	for _, e := range r.events() {
		if e.Type == core.EventHookFailed {
			skipped = append(skipped, string(e.Data))
		}
	}
	if len(skipped) != 1 || !strings.Contains(skipped[0], "run_end: not called: the agent is unavailable") {
		t.Errorf("the journal says of hooks that were not called: %q", skipped)
	}
}

// A run that is cancelled before its agent could be had began with what its start supplied.
func TestARunThatNeverHadItsAgentKeepsWhatItWasGiven(t *testing.T) {
	r, agents, _ := unserved(t)
	agents.lasts = true
	r.startBringing("where is it?", brought)
	r.work()
	r.must(r.cancel())
	r.passes(10 * time.Second)
	r.wantRun(core.RunDone, core.Cancelled)
	r.wantState(core.RunScope, supplied.StateKey, `{"zoom":3}`)
	for _, e := range r.events() {
		if said := string(e.Data); e.Type == core.EventRunStarted && (!strings.Contains(said, `"orders"`) || strings.Contains(said, "show_map")) {
			t.Errorf("the journal says %s", said)
		}
	}
}

func TestADeadlineThatPassesWhileTheAgentIsUnavailableClosesTheCallLater(t *testing.T) {
	r, agents, _ := unserved(t, calls(call("c1", "pay", `{}`)), says("done"))
	r.deadlines = map[core.Kind]core.Deadline{core.KindApproval: {Within: 60_000}}
	r.start("hi")
	r.work()
	agents.lasts = true
	r.passes(10 * time.Minute)
	if h := r.head(); h.End != nil || h.Calls["c1"].Status != core.CallSuspended {
		t.Fatalf("%+v, call %s", h.End, h.Calls["c1"].Status)
	}
	agents.lasts = false
	r.passes(time.Minute)
	r.wantRun(core.RunDone, core.NaturalEnd)
	r.wantRan()
}

func TestTheTimeThatARunWaitsForItsAgentIsNotItsOwn(t *testing.T) {
	r, agents, _ := unserved(t, calls(call("c1", "echo", `{}`)), says("done"))
	r.start("hi")
	r.step() // the first turn; the second is due
	if h := r.head(); h.Status != core.RunRunning || h.AwakeSince == 0 {
		t.Fatalf("the run is %s, awake since %d", h.Status, h.AwakeSince)
	}
	agents.lasts = true
	r.passes(time.Hour)
	agents.lasts = false
	r.passes(2 * time.Minute)
	r.wantRun(core.RunDone, core.NaturalEnd)
	if awake := time.Duration(r.head().Awake) * time.Millisecond; awake > 5*time.Minute {
		t.Errorf("it was awake for %s", awake)
	}
}
