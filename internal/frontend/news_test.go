package frontend_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

const pushToken = "a-token-of-32-characters-at-least"

var reviewCall = frontendtest.Call{ID: "c1", Tool: "review"}

// delegated is a run whose remote agent works, and which looks at it in an hour.
func (x *fixture) delegated() (child string) {
	x.t.Helper()
	child = x.worker.Delegate(x.start().ID, reviewCall, pushToken, x.inMS(time.Hour))
	x.clock.AfterFunc(time.Minute, func() {})
	return child
}

func (x *fixture) inMS(d time.Duration) int64 { return x.clock.Now().Add(d).UnixMilli() }

// news are the signals that the run has not seen yet.
func (x *fixture) news(run string) (n int) {
	x.t.Helper()
	for _, s := range x.head(threadOf(run)).Inbox {
		if s.Kind == core.SignalNews {
			n++
		}
	}
	return n
}

func TestNewsWakeTheRunOfARemoteAgent(t *testing.T) {
	x := newFixture(t, nil)
	child := x.delegated()
	if err := x.News(t.Context(), anna.Tenant, child, pushToken); err != nil || x.news(child) != 1 {
		t.Fatalf("%d news, %v", x.news(child), err)
	}
	s := x.head(threadOf(child)).Inbox[core.KeyNews]
	if len(s.Value) != 0 || s.Ref != "" || s.By != "" {
		t.Errorf("the signal carries something: %+v", s)
	}
	if h := x.head(threadOf(child)); !h.Claimable(x.inMS(0), "next") {
		t.Error("no worker can claim the run")
	}
}

func TestNewsOfNothingAreRefusedAlike(t *testing.T) {
	x := newFixture(t, nil)
	child := x.delegated()
	plain := x.start().ID
	for name, at := range map[string][3]string{
		"a wrong token":                    {anna.Tenant, child, pushToken + "x"},
		"no token":                         {anna.Tenant, child, ""},
		"another tenant":                   {"zoo", child, pushToken},
		"an unknown run":                   {anna.Tenant, "run_nobody_0", pushToken},
		"no id":                            {anna.Tenant, "x", pushToken},
		"a run that calls no remote agent": {anna.Tenant, plain, ""},
	} {
		var refused *refusal.Error
		if err := x.News(t.Context(), at[0], at[1], at[2]); !errors.As(err, &refused) || refused.Code != refusal.CodeRunNotFound || refused.Detail != "the run doesn't exist; check its id" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if x.news(child) != 0 {
		t.Error("something was stored")
	}
}

func TestAFloodOfNewsIsOneSignal(t *testing.T) {
	counted := &countedSignals{}
	x := newFixture(t, func(s frontend.Store) frontend.Store { counted.Store = s; return counted })
	child := x.delegated()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 50 {
				if err := x.News(t.Context(), anna.Tenant, child, pushToken); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := counted.stored; x.news(child) != 1 || n != 1 {
		t.Errorf("%d news, %d signals were stored", x.news(child), n)
	}
}

// countedSignals counts the signals that were stored.
type countedSignals struct {
	frontend.Store
	mu     sync.Mutex
	stored int
}

func (c *countedSignals) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	w, err := c.Store.Signal(ctx, req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.stored++
	}
	return w, err
}

// What the next look shows anyway is not stored.
func TestNewsOfARunThatLooksSoonChangeNothing(t *testing.T) {
	for name, wait := range map[string]struct {
		next, passed time.Duration
		stored       int
	}{
		"the look is due":      {time.Minute, 2 * time.Minute, 0},
		"the look comes soon":  {time.Hour, time.Hour - 3*time.Second, 0},
		"the look comes later": {time.Hour, time.Hour - time.Minute, 1},
	} {
		x := newFixture(t, nil)
		child := x.worker.Delegate(x.start().ID, reviewCall, pushToken, x.inMS(wait.next))
		x.clock.AfterFunc(wait.passed, func() {})
		if err := x.News(t.Context(), anna.Tenant, child, pushToken); err != nil || x.news(child) != wait.stored {
			t.Errorf("%s: %d news, %v", name, x.news(child), err)
		}
	}
}

func TestNewsOfARunThatHasEndedChangeNothing(t *testing.T) {
	x := newFixture(t, nil)
	child := x.delegated()
	x.clock.AfterFunc(2*time.Hour, func() {})
	x.worker.Finish(child, "done")
	if err := x.News(t.Context(), anna.Tenant, child, pushToken); err != nil || x.news(child) != 0 {
		t.Errorf("%d news, %v", x.news(child), err)
	}
	if err := x.News(t.Context(), anna.Tenant, child, "wrong"); err == nil {
		t.Error("a wrong token opens a run that has ended")
	}
}
