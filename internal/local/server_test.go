package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

func TestOnlyLoopbackIsServedWithoutTokens(t *testing.T) {
	for _, tt := range []struct {
		addr   string
		tokens bool
		ok     bool
	}{
		{"127.0.0.1:8420", false, true},
		{"127.9.9.9:0", false, true},
		{"[::1]:8420", false, true},
		{"localhost:8420", false, true},
		{":8420", false, false},
		{"0.0.0.0:8420", false, false},
		{"[::]:8420", false, false},
		{"192.0.2.1:8420", false, false},
		{"localhost.example:8420", false, false},
		{"127.0.0.1.example:8420", false, false},
		{"0.0.0.0:8420", true, true},
		{":8420", true, true},
		{"127.0.0.1", false, false},
		{"", true, false},
	} {
		if err := CheckAddr(tt.addr, tt.tokens); (err == nil) != tt.ok {
			t.Errorf("%q, tokens %v: %v", tt.addr, tt.tokens, err)
		}
	}
	r := newRig(t, nothing)
	r.deploy(allowed)
	o := r.options()
	o.Addr = "0.0.0.0:0"
	if _, err := Start(t.Context(), o); !errors.Is(err, ErrNotLoopback) {
		t.Errorf("start: %v", err)
	}
	if _, err := os.Stat(r.data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused start made the data directory: %v", err)
	}
}

func nothing(context.Context) error { return nil }

func TestATokenIsDemandedOfEveryCaller(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(allowed)
	o := r.options()
	o.TokensFile = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(o.TokensFile, []byte(line("test", access.Tenant, "secret", access.Admin)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for token, ok := range map[string]bool{"secret": true, "guess": false, "": false} {
		if _, err := client.New("http://"+s.Addr(), client.WithToken(token), client.WithRetries(0)).RunPage(ctx, client.RunFilter{}); (err == nil) != ok {
			t.Errorf("token %q: %v", token, err)
		}
	}
	stop()
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

func TestStoppingFinishesTheStepAtHand(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(ctx context.Context) error {
		close(inside)
		select {
		case <-goOn:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	r.deploy(allowed)
	s := r.start()
	run := s.begin(t)
	<-inside
	s.stop()
	select {
	case <-s.done:
		t.Fatal("it stopped with a step at hand")
	default:
	}
	close(goOn)
	s.end(t)
	h := head(t, r.store(), run.ThreadID)
	if c := h.Calls["call_1"]; c.Status != core.CallSucceeded || h.Lease != 0 || h.Tries != 0 {
		t.Errorf("the step was not finished: %+v", h)
	}
	again := r.start()
	got := again.await(t, run.ID, "done")
	if text, _ := got.OutputText(); text != "Done." {
		t.Errorf("after the next start: %+v", got)
	}
}

func TestStoppingAnswersHeldReads(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(asked)
	s := r.start()
	run := s.await(t, s.begin(t).ID, "waiting")
	page, err := s.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	sent := make(chan struct{})
	go func() {
		close(sent)
		_, err := s.EventPage(t.Context(), run.ID, client.EventQuery{After: page.Next, Wait: 20 * time.Second, Limit: 10})
		answered <- err
	}()
	<-sent
	begun := time.Now()
	s.end(t)
	if err := <-answered; time.Since(begun) > 10*time.Second {
		t.Errorf("the read was held for %s (%v)", time.Since(begun), err)
	}
}

func TestAStartThatFailsLeavesNothingLocked(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy("name: desk\ncolour: red\n")
	strict := r.options()
	strict.Strict = true
	if _, err := Start(t.Context(), strict); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Fatalf("got %v", err)
	}
	r.deploy(strings.ReplaceAll(allowed, "go: pay", "go: gone"))
	if _, err := Start(t.Context(), strict); err == nil || !strings.Contains(err.Error(), `"gone"`) {
		t.Fatalf("got %v", err)
	}
	r.deploy(allowed)
	s := r.start()
	taken := r.options()
	taken.Addr = s.Addr()
	if _, err := Start(t.Context(), taken); err == nil {
		t.Fatal("two listen at one address")
	}
	s.await(t, s.begin(t).ID, "done")
}

func TestC114ADeployTakesRightsFromSleepingRuns(t *testing.T) {
	r, paid := countingRig(t)
	run := r.asleep()

	r.deploy(denied)
	second := r.start()
	_, err := second.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"})
	if err != nil {
		t.Fatal(err)
	}
	got := second.await(t, run.ID, "done")
	if paid.Load() != 0 || got.AgentVersion != run.AgentVersion || got.Resumes != 1 {
		t.Errorf("paid %d times, version %s (was %s), %d resumes", paid.Load(), got.AgentVersion, run.AgentVersion, got.Resumes)
	}
	messages, err := client.Collect(second.Messages(t.Context(), run.ThreadID, client.MessageOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	failed := false
	for _, m := range messages {
		failed = failed || m.CallID == "call_1" && m.Error && strings.HasPrefix(m.Text, "Not allowed")
	}
	if !failed {
		t.Errorf("the call did not fail: %+v", messages)
	}
	if fresh := second.begin(t); fresh.AgentVersion == run.AgentVersion {
		t.Error("a new run has the old version")
	}
}

func TestAHundredDifferentDecisionsAtOnceOneCountsAndTheCallRunsOnce(t *testing.T) {
	r, paid := countingRig(t)
	r.deploy(asked)
	s := r.start()
	run := s.await(t, s.begin(t).ID, "waiting")
	var all sync.WaitGroup
	var accepted atomic.Int64
	winners := make([]string, 100)
	for i := range 100 {
		all.Go(func() {
			id := fmt.Sprintf("decision %d", i)
			_, err := s.Decide(t.Context(), run.ID, wire.Decision{DecisionID: id, Target: run.Pending[0].Suspension.ID, Action: "resume"})
			var refused *client.Error
			switch {
			case err == nil:
				accepted.Add(1)
				winners[i] = id
			case errors.As(err, &refused) && refused.Code == "already_decided" && refused.Winner != nil:
				winners[i] = refused.Winner.DecisionID
			default:
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	all.Wait()
	s.await(t, run.ID, "done")
	if accepted.Load() != 1 || paid.Load() != 1 || len(slices.Compact(winners)) != 1 {
		t.Errorf("%d accepted, paid %d times, told of %v", accepted.Load(), paid.Load(), slices.Compact(winners))
	}
}

func TestADeployAddsNoRightsToSleepingRuns(t *testing.T) {
	r, paid := countingRig(t)
	run := r.asleep()
	r.deploy(allowed)
	second := r.start()
	if got := second.await(t, run.ID, "waiting"); len(got.Pending) != 1 || paid.Load() != 0 {
		t.Errorf("paid %d times, pending %+v", paid.Load(), got.Pending)
	}
}

func TestAnAgentWhoseFileIsGoneIsNotStartedAndItsSleepingRunsGoOn(t *testing.T) {
	r, paid := countingRig(t)
	run := r.asleep()
	files, err := filepath.Glob(filepath.Join(r.agents, "*.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("agent files %v (%v)", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	second := r.start()
	if agents, err := second.Agents(t.Context()); err != nil || len(agents) != 0 {
		t.Errorf("agents %+v (%v)", agents, err)
	}
	if _, err := second.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: []byte(`"pay"`)}, ""); err == nil {
		t.Error("it was started")
	}
	if _, err := second.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	if got := second.await(t, run.ID, "done"); paid.Load() != 1 || *got.Reason != "natural_end" {
		t.Errorf("paid %d times, run %+v", paid.Load(), got)
	}
}

// claimed puts a run into the data that some process owns for two minutes: longer than a test
// takes, and not so far ahead that the sweep takes the time for a mistake.
func claimed(t *testing.T, r *rig) (*sqlite.DB, core.Head) {
	t.Helper()
	s := r.start()
	run := s.await(t, s.begin(t).ID, "waiting")
	s.end(t)
	db := r.store()
	front := frontend.New(frontend.Options{Store: db, Catalog: db, Waker: db, Clock: machine.Clock{}, Random: machine.Random{}})
	_, err := front.Decide(t.Context(), frontend.Caller{Tenant: access.Tenant}, run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	end := now + (2 * time.Minute).Milliseconds()
	h, err := db.Claim(t.Context(), engine.ClaimRequest{Tenant: access.Tenant, Thread: run.ThreadID, Claim: "somebody", Now: now,
		LeaseEnd: end, Due: end, Schema: core.SchemaVersion})
	if err != nil {
		t.Fatal(err)
	}
	return db, h
}

func TestWhoStartsAloneTakesOverTheLeases(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(asked)
	_, h := claimed(t, r)
	s := r.start()
	s.await(t, h.Run, "done")
}

func TestWhoIsNotAloneLeavesTheLeases(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(asked)
	db, h := claimed(t, r)
	other, err := lockData(r.data, "no policy", func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer other.release()
	s := r.start()
	if got := head(t, db, h.Thread); got.Lease != h.Lease || got.Epoch != h.Epoch {
		t.Errorf("the lease of a living process was taken: %+v", got)
	}
	s.await(t, s.begin(t).ID, "waiting") // it works all the same
}

// wakes counts what is sent.
type wakes struct {
	threads []string
}

func (w *wakes) Send(_ context.Context, wakeup engine.Wakeup, _ time.Duration) error {
	w.threads = append(w.threads, wakeup.Thread)
	return nil
}

// ending is a clock that ends the test's context when somebody wants to sleep.
type ending struct {
	now  time.Time
	stop context.CancelFunc
}

func (c ending) Now() time.Time { return c.now }
func (c ending) AfterFunc(time.Duration, func()) (stop func()) {
	c.stop()
	return func() {}
}

func TestC196RecoveryAtStartWakesWhatIsOverdueOnce(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(asked)
	s := r.start()
	waits := s.await(t, s.begin(t).ID, "waiting")
	s.end(t)
	db := r.store()
	before := head(t, db, waits.ThreadID)
	overdue := orphan(t, db, before)

	ctx, stop := context.WithCancel(t.Context())
	w := &wakes{}
	sweeping := &sweep{store: db, waker: w, clock: ending{time.Now(), stop}, period: time.Minute, log: r.options().Logger}
	sweeping.run(ctx)
	ctx, stop = context.WithCancel(t.Context())
	sweeping.clock = ending{time.Now(), stop}
	sweeping.run(ctx) // a second one at the same time
	if len(w.threads) != 1 || w.threads[0] != overdue.Thread {
		t.Errorf("woken: %v, want %s once", w.threads, overdue.Thread)
	}

	// due again
	if _, err := db.TakeOverdue(t.Context(), time.Now().Add(time.Hour).UnixMilli(), 1, 10); err != nil {
		t.Fatal(err)
	}
	again := r.start()
	got := again.await(t, overdue.Run, "waiting")
	if after := head(t, db, waits.ThreadID); after.Epoch != before.Epoch || after.Rev != before.Rev {
		t.Errorf("a run that waits for a person was woken: epoch %d to %d", before.Epoch, after.Epoch)
	}
	if h := head(t, db, overdue.Thread); int64(got.Activations) != h.Epoch {
		t.Errorf("%d claims for %d activations", h.Epoch, got.Activations)
	}
}

// orphan is a run whose caller died between storing it and waking it.
func orphan(t *testing.T, db *sqlite.DB, like core.Head) core.Head {
	t.Helper()
	now := time.Now().UnixMilli()
	thread := core.ThreadID("orphan")
	h := core.Head{Identity: core.Identity{Tenant: access.Tenant, Thread: thread, Run: core.RunID(thread, 0), Agent: like.Agent, Version: like.Version, Schema: core.SchemaVersion},
		Origin: core.Origin{Born: now, At: now}, Inbox: map[string]core.Signal{
			core.KeyStart: {Kind: core.SignalStart, Value: core.Encode(core.TextParts("pay")), At: now}}}
	if _, err := db.Start(t.Context(), engine.StartRequest{Head: h, Due: 1}); err != nil {
		t.Fatal(err)
	}
	return h
}
