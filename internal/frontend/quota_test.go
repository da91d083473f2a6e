package frontend_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// held puts callers under a quota from now on.
func (x *fixture) held(q quota.Bounds) {
	if q.Stored == nil {
		q.Stored = x.store.Stored
	}
	x.quota = q
	x.Reader = x.over(x.store, nil)
}

func (x *fixture) send(key, text string) (frontend.Started, error) {
	return x.Start(x.t.Context(), anna, key, wire.StartRequest{Agent: "desk", Input: core.Encode(text)})
}

func TestATenantStoresNoMoreThanItsQuota(t *testing.T) {
	x := newFixture(t, nil)
	first, err := x.send("k1", strings.Repeat("x", 60_000))
	if err != nil {
		t.Fatal(err)
	}
	x.held(quota.Bounds{Bytes: 100_000})
	e := x.wantCode(second(x.send("", strings.Repeat("y", 60_000))), refusal.CodeTenantFull)
	if e.RetryAfter == 0 || !strings.Contains(e.Detail, `"default"`) || !strings.Contains(e.Detail, "100000") || !strings.Contains(e.Detail, "--tenant-bytes") {
		t.Errorf("the caller is not told what to do: %+v", e)
	}
	if _, err := x.send("", "what still fits"); err != nil {
		t.Errorf("a small one: %v", err)
	}
	_, err = x.Message(t.Context(), anna, first.Run.ThreadID, "m1", wire.MessageRequest{Input: core.Encode(strings.Repeat("z", 60_000))})
	x.wantCode(err, refusal.CodeTenantFull)
	x.held(quota.Bounds{Bytes: 1})
	again, err := x.send("k1", strings.Repeat("x", 60_000))
	if err != nil || again.New || again.Run.ID != first.Run.ID {
		t.Errorf("a repeat of what was stored: %+v, %v", again, err)
	}
	other := frontend.Caller{Tenant: "other", By: "bob"}
	x.held(quota.Bounds{Bytes: 100_000})
	if _, err := x.Start(t.Context(), other, "", wire.StartRequest{Agent: "desk", Input: []byte(`"x"`)}); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Whatever a tenant has used up, its runs can be ended, and a decision counts.
func TestWhatLetsARunEndIsTakenWhateverTheQuota(t *testing.T) {
	x := newFixture(t, nil)
	asked, sus := x.waiting(core.KindApproval)
	input, _ := x.waiting(core.KindInput)
	failed, open, paused := x.failed(), x.start(), x.interrupted()
	x.held(quota.Bounds{Bytes: 1, Runs: 1})
	x.wantCode(second(x.send("", "x")), refusal.CodeTenantFull)
	_, err := x.Retry(t.Context(), anna, failed.ID, "")
	x.wantCode(err, refusal.CodeTenantFull)
	if a, err := x.decide(asked.ID, sus, wire.Decision{Action: "resume", Reason: strings.Repeat("because ", 1000)}); err != nil || a.Code != string(refusal.CodeAccepted) {
		t.Errorf("a decision: %+v, %v", a, err)
	}
	for _, onPending := range []string{"abandon", "queue"} {
		x.wantCode(second(x.Message(t.Context(), anna, input.ThreadID, "", wire.MessageRequest{Input: []byte(`"no"`), OnPending: onPending})), refusal.CodeTenantFull)
	}
	if _, err := x.Message(t.Context(), anna, input.ThreadID, "", wire.MessageRequest{Input: []byte(`"yes"`)}); err != nil {
		t.Errorf("a message that answers: %v", err)
	}
	if _, err := x.resume(paused.ID, wire.ResumeRequest{}); err != nil {
		t.Errorf("a resume: %v", err)
	}
	for _, run := range []string{open.ID, input.ID} {
		if _, err := x.Cancel(t.Context(), anna, run); err != nil {
			t.Errorf("a cancel: %v", err)
		}
	}
}

func TestATenantHasNoMoreOpenRunsThanItsQuota(t *testing.T) {
	x := newFixture(t, nil)
	x.held(quota.Bounds{Runs: 2})
	run := x.start()
	x.start()
	e := x.wantCode(second(x.send("", "one more")), refusal.CodeTooManyRuns)
	if e.RetryAfter == 0 || !strings.Contains(e.Detail, "2 open runs") || !strings.Contains(e.Detail, "--tenant-runs") {
		t.Errorf("the caller is not told what to do: %+v", e)
	}
	if _, err := x.say(run.ThreadID, "", "a message to an open run", ""); err != nil {
		t.Errorf("a message: %v", err)
	}
	x.worker.Finish(run.ID, "done")
	if _, err := x.say(run.ThreadID, "", "the next run", ""); err != nil {
		t.Errorf("after one is done: %v", err)
	}
	x.wantCode(second(x.send("", "one more")), refusal.CodeTooManyRuns)
}

// slowPut holds every large input until all are there.
type slowPut struct {
	frontend.Store
	all *sync.WaitGroup
}

func (s slowPut) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	s.all.Done()
	s.all.Wait()
	return s.Store.PutPayload(ctx, tenant, thread, digest, body)
}

// Requests that are stored at the same moment count for one another.
func TestManyAtOnceDoNotExceedTheQuotaTogether(t *testing.T) {
	x := newFixture(t, nil)
	x.quota = quota.Bounds{Bytes: 100_000, Stored: x.store.Stored}
	var all, callers sync.WaitGroup
	all.Add(10) // each of ten is stored, or refused
	x.Reader = x.over(x.store, func(s frontend.Store) frontend.Store { return slowPut{s, &all} })
	errs := make([]error, 10)
	for i := range errs {
		callers.Go(func() {
			if _, errs[i] = x.send("", strings.Repeat("x", 30_000)); errs[i] != nil {
				all.Done()
			}
		})
	}
	callers.Wait()
	taken := 0
	for _, err := range errs {
		if err == nil {
			taken++
			continue
		}
		x.wantCode(err, refusal.CodeTenantFull)
	}
	if taken < 1 || taken > 3 {
		t.Errorf("%d of 10 were taken, which is not what fits", taken)
	}
}

func TestAQuotaThatCannotBeLookedUpIsNoRefusal(t *testing.T) {
	x := newFixture(t, nil)
	x.held(quota.Bounds{Bytes: 1, Stored: func(context.Context, string) (quota.Stored, error) {
		return quota.Stored{}, engine.ErrUnavailable
	}})
	_, err := x.send("", "x")
	if !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	x.held(quota.Bounds{Bytes: 100_000})
	if _, err := x.send("", "x"); err != nil {
		t.Errorf("what it had reserved is still reserved: %v", err)
	}
}
