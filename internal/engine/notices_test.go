package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// subscribed lets endpoints subscribe to the runs of the rig, and counts what is handed over.
type subscribed struct {
	r     *rig
	to    []notice.Subscription
	fail  int    // hand-overs that fail first
	bad   string // the endpoint whose line can't be written
	calls int
	lost  error // why it is not known who has subscribed
}

func (s *subscribed) Of(context.Context, core.Head) ([]notice.Subscription, error) {
	return s.to, s.lost
}

func (s *subscribed) HandOver(ctx context.Context, req engine.HandOver) (bool, error) {
	if s.fail--; s.fail >= 0 || req.Endpoint == s.bad {
		return false, engine.ErrDenied
	}
	s.calls++
	req.Wake = false // nothing works on lines here
	handOver := func() (bool, error) {
		_, err := s.r.db.HandOver(ctx, req)
		return true, err
	}
	if b, breaks := s.r.store.(*breaking); breaks {
		return broken(b, handOver)
	}
	return handOver()
}

// everything subscribes one endpoint to all there is, with as many hand-overs that fail first.
func everything(r *rig, fail int) *subscribed {
	s := &subscribed{r: r, to: []notice.Subscription{{Endpoint: "ops", On: notice.Kinds}}, fail: fail}
	s.build()
	return s
}

func (s *subscribed) build() { s.r.build(engine.Options{Subscribers: s, Lines: s}) }

// owed are the notices in the line of an endpoint, in the order of events, each with its event.
func (s *subscribed) owed(endpoint string) (notices []string) {
	s.r.t.Helper()
	lines, err := s.r.db.ThreadLines(s.r.ctx, "t", s.r.thread)
	s.r.must(err)
	entries := lines[endpoint].Entries
	for _, event := range slices.Sorted(maps.Keys(entries)) {
		e := entries[event]
		segments, err := s.r.db.Segments(s.r.ctx, "t", s.r.thread, e.Seq, e.Seq)
		s.r.must(err)
		for _, in := range segments[0].Events {
			if in.Seq == event {
				notices = append(notices, fmt.Sprintf("%s %s", e.Kind, in.Type))
			}
		}
	}
	return notices
}

func (s *subscribed) want(endpoint string, want ...string) {
	s.r.t.Helper()
	if got := s.owed(endpoint); !slices.Equal(got, want) {
		s.r.t.Fatalf("%s is owed %q, want %q", endpoint, got, want)
	}
}

func TestNotices(t *testing.T) {
	setup := func(t *testing.T, fail int) (*rig, *subscribed) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		r.ask("pay")
		return r, everything(r, fail)
	}
	t.Run("a run without subscribers owes nothing and releases with its suspension", func(t *testing.T) {
		r, s := setup(t, 0)
		s.to = nil
		r.start("hi")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		quiet := r.head().Rev
		other, loud := setup(t, 0)
		other.start("hi")
		other.work()
		if loud.want("ops", "suspended call.suspended"); other.head().Rev != quiet+1 {
			t.Errorf("%d writes of the head with a notice, %d without", other.head().Rev, quiet)
		}
	})
	t.Run("a whole run, handed over before it waits and before it is done", func(t *testing.T) {
		r, s := setup(t, 0)
		r.start("hi")
		r.work()
		r.wantRun(core.RunWaiting, 0)
		s.want("ops", "suspended call.suspended")
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		s.want("ops", "suspended call.suspended", "decided decision.recorded", "done run.ended")
		if s.calls != 3 {
			t.Errorf("%d hand-overs", s.calls)
		}
	})
	t.Run("each endpoint gets what it subscribed to", func(t *testing.T) {
		r, s := setup(t, 0)
		s.to = []notice.Subscription{{Endpoint: "people", On: notice.Set{notice.Suspended}}, {Endpoint: "pipeline", On: notice.Set{notice.Done, notice.Failed}}}
		r.start("hi")
		r.work()
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		s.want("people", "suspended call.suspended")
		s.want("pipeline", "done run.ended")
	})
	t.Run("a line that can't be written keeps no other endpoint from being notified, and loses nothing", func(t *testing.T) {
		r, s := setup(t, 0)
		for _, endpoint := range []string{"aide", "bad", "ops2"} {
			s.to = append(s.to, notice.Subscription{Endpoint: endpoint, On: notice.Kinds})
		}
		s.bad = "bad"
		r.start("hi")
		r.work()
		for _, endpoint := range []string{"ops", "aide", "ops2"} {
			s.want(endpoint, "suspended call.suspended")
		}
		s.want("bad")
		s.bad = ""
		for range 3 {
			r.clock.Advance(time.Minute)
			r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
			r.work()
		}
		r.wantRun(core.RunWaiting, 0)
		for _, endpoint := range []string{"ops", "aide", "ops2", "bad"} {
			s.want(endpoint, "suspended call.suspended")
		}
	})
	t.Run("H21 what could not be handed over keeps the run due until it is", func(t *testing.T) {
		r, s := setup(t, 2)
		r.start("hi")
		r.work()
		if h := r.head(); h.Status != core.RunRunning || len(h.Out) != 1 || h.Due == 0 {
			t.Fatalf("status %s, out %v, due %d", h.Status, h.Out, h.Due)
		}
		for range 3 {
			r.clock.Advance(time.Minute)
			r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
			r.work()
		}
		r.wantRun(core.RunWaiting, 0)
		s.want("ops", "suspended call.suspended")
	})
	t.Run("H47 the end of a run keeps what is owed", func(t *testing.T) {
		r, s := setup(t, 1)
		r.start("hi")
		r.work()
		r.must(r.cancel())
		r.clock.Advance(time.Minute)
		r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
		r.work()
		r.wantRun(core.RunDone, core.Cancelled)
		s.want("ops", "suspended call.suspended", "decided call.cancelled", "done run.ended")
	})
	t.Run("an owner that hears of news reads its subscribers again", func(t *testing.T) {
		for end, turn := range map[string]core.Turn{"suspended call.suspended": calls(call("c1", "pay", `{}`)), "done run.ended": says("done")} {
			r := newRig(t, turn)
			r.ask("pay")
			s := everything(r, 0)
			all := s.to
			s.to = nil
			// it comes while the run is at work
			r.onAsk = func(context.Context, engine.Prompt) error {
				s.to = all
				return r.signal(notice.NewsKey("n1"), core.Signal{Kind: core.SignalNews})
			}
			r.start("hi")
			r.work()
			if s.want("ops", end); notice.HasNews(r.head()) || r.count(core.EventTurnStarted) != 1 {
				t.Errorf("%s: the head is %+v, and %d turns began", end, r.head(), r.count(core.EventTurnStarted))
			}
		}
	})
	t.Run("a failed run", func(t *testing.T) {
		r := newRig(t)
		r.onAsk = func(context.Context, engine.Prompt) error { return &engine.StopError{Code: "refused"} }
		s := everything(r, 0)
		r.start("hi")
		r.work()
		r.wantRun(core.RunDone, core.Stopped)
		s.want("ops", "failed run.ended")
	})
}

// A crash before or after each operation of a run loses no notice and hands none over twice.
func TestNoticesSurviveACrashAtEachOperation(t *testing.T) {
	want := []string{"suspended call.suspended", "decided decision.recorded", "done run.ended"}
	for _, before := range []bool{true, false} {
		for at := 1; ; at++ {
			r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
			// no crash makes it ask again
			r.tool("pay", toolRule{effect: core.Ask, spec: core.ToolSpec{Delivery: core.AtLeastOnce}})
			s := everything(r, 0)
			r.store = &breaking{Store: r.db, at: at, before: before, how: dies}
			s.build()
			r.start("hi")
			lost := false
			for range 12 {
				if r.stepOrDie() {
					lost, r.store = true, r.db
					s.build()
					r.recover()
				}
				if h := r.head(); h.Calls["c1"].Status == core.CallSuspended && len(h.Inbox) == 0 {
					r.must(r.decide("c1", resume("d", `true`)))
				}
			}
			r.wantRun(core.RunDone, core.NaturalEnd)
			if got := s.owed("ops"); !slices.Equal(got, want) {
				t.Fatalf("crash %d (before: %v): owed %q", at, before, got)
			}
			if !lost {
				break
			}
		}
	}
}

// A run whose subscribers can't be read ends, and can so be replaced, as one whose agent can't be
// loaded does. While the store does not answer it only waits.
func TestARunWhoseSubscribersCantBeReadEnds(t *testing.T) {
	for name, c := range map[string]struct {
		lost error
		want core.RunStatus
	}{
		"for good":                        {errors.New("not a definition"), core.RunDone},
		"while the store does not answer": {engine.ErrDenied, core.RunRunning},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, says("done"))
			s := everything(r, 0)
			s.lost = c.lost
			r.start("hi")
			for range plans.DefaultLimits.Claims + 3 {
				_, _ = r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
				r.clock.Advance(3 * time.Minute)
			}
			h := r.head()
			if h.Status != c.want {
				t.Fatalf("the run is %s after %d claims, want %s", h.Status, h.Tries, c.want)
			}
			if c.want == core.RunDone && h.End.Code != "crash_loop" {
				t.Errorf("it ended with the code %q", h.End.Code)
			}
			s.want("ops")
		})
	}
}
