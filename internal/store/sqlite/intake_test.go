package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// hidden is how long a message that was handed over is not seen.
const hidden = 10 * time.Second

func put(t *testing.T, q *sqlite.Intake, bodies ...string) {
	t.Helper()
	var raw [][]byte
	for _, b := range bodies {
		raw = append(raw, []byte(b))
	}
	if err := q.Put(t.Context(), tenant, raw); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, q *sqlite.Intake, max int) []intake.Delivery {
	t.Helper()
	got, err := q.Receive(t.Context(), max)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func settle(t *testing.T, q *sqlite.Intake, d intake.Delivery, f intake.Result) {
	t.Helper()
	if err := q.Settle(t.Context(), d, f); err != nil {
		t.Fatal(err)
	}
}

func counts(t *testing.T, q *sqlite.Intake) sqlite.IntakeCounts {
	t.Helper()
	c, err := q.Counts(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// anIntake is an empty queue and the clock it goes by.
func anIntake(t *testing.T) (*sqlite.DB, *sqlite.Intake, *enginetest.Clock) {
	t.Helper()
	clock := enginetest.AtMilli(1000)
	db := open(t, newFile(t), options(t, clock))
	return db, db.Intake(), clock
}

func TestIntakeHandsOverEachMessageOnceUntilItsTimeIsOver(t *testing.T) {
	_, q, clock := anIntake(t)
	put(t, q, "a", "b")
	first := receive(t, q, 10)
	if len(first) != 2 || first[0].Attempts != 1 || first[0].Tenant != tenant {
		t.Fatalf("got %+v", first)
	}
	clock.Advance(hidden - time.Millisecond)
	if again := receive(t, q, 10); len(again) != 0 {
		t.Fatalf("handed over twice: %+v", again)
	}
	settle(t, q, first[0], intake.Result{Outcome: intake.Started})
	clock.Advance(time.Millisecond)
	again := receive(t, q, 10)
	if len(again) != 1 || again[0].ID != first[1].ID || again[0].Attempts != 2 {
		t.Fatalf("got %+v, want message %s again", again, first[1].ID)
	}
	for _, f := range []intake.Result{{Outcome: intake.Started}, {Outcome: intake.Dead, Code: "x"}, {Outcome: intake.Busy}} {
		if err := q.Settle(t.Context(), first[1], f); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("the old receipt settles as %v: %v", f.Outcome, err)
		}
	}
	if got := counts(t, q); got != (sqlite.IntakeCounts{Waiting: 1}) {
		t.Errorf("counts %+v", got)
	}
}

func TestIntakeBringsBackWhatWasGivenBack(t *testing.T) {
	for _, tt := range []struct {
		outcome  intake.Outcome
		attempts int // of the next hand-over
	}{{intake.Busy, 1}, {intake.Failed, 2}} {
		_, q, clock := anIntake(t)
		put(t, q, "a")
		settle(t, q, receive(t, q, 1)[0], intake.Result{Outcome: tt.outcome, After: 3 * time.Second, Code: "run_open", Detail: "later"})
		if got := counts(t, q); got != (sqlite.IntakeCounts{Waiting: 1, Back: 1}) {
			t.Errorf("counts %+v", got)
		}
		if early := receive(t, q, 1); len(early) != 0 {
			t.Errorf("came back at once: %+v", early)
		}
		clock.Advance(3 * time.Second)
		if got := receive(t, q, 1); len(got) != 1 || got[0].Attempts != tt.attempts || got[0].Returned != 1 {
			t.Errorf("outcome %v: got %+v, want %d attempts", tt.outcome, got, tt.attempts)
		}
	}
}

func TestIntakeKeepsDeadLettersWithTheReasonAndTheirBytes(t *testing.T) {
	_, q, clock := anIntake(t)
	poison := "\x00\xff{"
	put(t, q, poison)
	clock.Advance(time.Second)
	settle(t, q, receive(t, q, 1)[0], intake.Result{Outcome: intake.Dead, Code: "malformed_body", Detail: "no JSON"})
	dead, err := q.Dead(t.Context(), tenant, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []sqlite.IntakeLetter{{ID: 1, Body: []byte(poison), At: 1000, Since: 2000, Code: "malformed_body", Detail: "no JSON"}}
	if diff := cmp.Diff(want, dead); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	if n, err := q.RetryDead(t.Context(), tenant); n != 1 || err != nil {
		t.Errorf("%d retried, %v", n, err)
	}
	if n, err := q.RetryDead(t.Context(), tenant); n != 0 || err != nil {
		t.Errorf("%d retried a second time, %v", n, err)
	}
	again := receive(t, q, 1)
	if len(again) != 1 || string(again[0].Body) != poison || again[0].Attempts != 1 {
		t.Fatalf("got %+v", again)
	}
	settle(t, q, again[0], intake.Result{Outcome: intake.Dead, Code: "x", Detail: "y"})
	if n, err := q.DropDead(t.Context(), "other"); n != 0 || err != nil {
		t.Errorf("%d of another tenant dropped, %v", n, err)
	}
	if n, err := q.DropDead(t.Context(), tenant); n != 1 || err != nil {
		t.Errorf("%d dropped, %v", n, err)
	}
	if got := counts(t, q); got != (sqlite.IntakeCounts{}) {
		t.Errorf("counts %+v", got)
	}
}

// callers is a frontend on the file, for which an agent "a" is deployed.
func callers(t *testing.T, db *sqlite.DB, clock *enginetest.Clock) *query.Reader {
	t.Helper()
	err := db.PutDefinition(t.Context(), engine.Definition{Tenant: tenant, Name: "a", Digest: "v", Body: []byte("{}")})
	if err == nil {
		err = db.Deploy(t.Context(), tenant, "a", "v")
	}
	if err != nil {
		t.Fatal(err)
	}
	return query.New(frontend.New(frontend.Options{Store: db, Catalog: db, Waker: db, Clock: clock, Random: enginetest.NewRandom(t, 2)}))
}

func pumpOf(q intake.Queue, s intake.Starter, clock engine.Clock) *intake.Pump {
	log := slog.New(slog.DiscardHandler)
	return &intake.Pump{Queue: q, Handler: &intake.Handler{Starter: s, Log: log, MaxFailures: 3}, Clock: clock, Log: log,
		Room: func(context.Context) (int, error) { return 100, nil }, Batch: 8, Poll: time.Second, Crowded: time.Second}
}

// drain works until a batch settles nothing.
func drain(t *testing.T, p *intake.Pump) {
	for {
		if n, _ := p.Once(t.Context()); n == 0 {
			return
		}
	}
}

func order(key int) string {
	return fmt.Sprintf(`{"idempotency_key":"k%d","agent":"a","input":"go"}`, key)
}

func runs(t *testing.T, db *sqlite.DB) map[string]bool {
	t.Helper()
	records, _, err := db.Runs(t.Context(), tenant, "", "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, r := range records {
		ids[r.Run] = true
	}
	return ids
}

// forgetful loses its answer to every second settling, as a process does that dies between starting
// a run and removing its message.
type forgetful struct {
	intake.Queue
	mu   sync.Mutex
	lost int
	n    int
}

func (f *forgetful) Settle(ctx context.Context, d intake.Delivery, result intake.Result) error {
	f.mu.Lock()
	f.n++
	lose := f.n%2 == 1
	if lose {
		f.lost++
	}
	f.mu.Unlock()
	if lose {
		return engine.ErrUnavailable
	}
	return f.Queue.Settle(ctx, d, result)
}

func TestIntakeStartsOneRunAKeyHoweverOftenItIsCutOff(t *testing.T) {
	db, q, clock := anIntake(t)
	front := callers(t, db, clock)
	for i := range 40 {
		put(t, q, order(i), order(i/2)) // many keys twice
	}
	cut := &forgetful{Queue: q}
	pump := pumpOf(cut, front, clock)
	pump.Handler.MaxFailures = 40
	for range 400 {
		if counts(t, q).Waiting == 0 {
			break
		}
		if n, _ := pump.Once(t.Context()); n == 0 {
			clock.Advance(hidden)
		}
	}
	if c := counts(t, q); c != (sqlite.IntakeCounts{}) || cut.lost < 40 {
		t.Errorf("counts %+v after %d lost settlings", c, cut.lost)
	}
	if got := len(runs(t, db)); got != 40 {
		t.Errorf("%d runs for 40 keys", got)
	}
}

func TestIntakeConsumersAtOnceStartEachKeyOnce(t *testing.T) {
	db, q, clock := anIntake(t)
	front := callers(t, db, clock)
	const keys = 120
	for i := range keys {
		put(t, q, order(i))
	}
	var consumers sync.WaitGroup
	for range 4 {
		consumers.Go(func() {
			drain(t, pumpOf(q, front, clock))
		})
	}
	consumers.Wait()
	if c, got := counts(t, q), len(runs(t, db)); c != (sqlite.IntakeCounts{}) || got != keys {
		t.Errorf("%d runs for %d keys, counts %+v", got, keys, c)
	}
}

func TestIntakePoisonStandsInNobodysWay(t *testing.T) {
	db, q, clock := anIntake(t)
	front := callers(t, db, clock)
	for i := range 30 {
		put(t, q, "poison", fmt.Sprintf(`{"idempotency_key":"x%d","agent":"nobody","input":"go"}`, i), order(i))
	}
	drain(t, pumpOf(q, front, clock))
	if c, got := counts(t, q), len(runs(t, db)); c != (sqlite.IntakeCounts{Dead: 60}) || got != 30 {
		t.Errorf("%d runs, counts %+v; want 30 runs and 60 dead letters", got, c)
	}
}

func TestIntakeMessageForABusyThreadIsKeptAsLongAsItIsBusy(t *testing.T) {
	db, q, clock := anIntake(t)
	front := callers(t, db, clock)
	first, err := front.Start(t.Context(), frontend.Caller{Tenant: tenant}, "", startRequest("a"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, q, fmt.Sprintf(`{"idempotency_key":"next","agent":"a","input":"go","thread_id":%q}`, first.Run.ThreadID))
	pump := pumpOf(q, front, clock)
	for range 10 {
		pump.Once(t.Context())
		clock.Advance(time.Minute)
	}
	back, err := q.Back(t.Context(), tenant, 10)
	if err != nil || len(back) != 1 || back[0].Code != string(refusal.CodeRunOpen) {
		t.Fatalf("given back: %+v, %v", back, err)
	}
	if got := len(runs(t, db)); got != 1 {
		t.Errorf("%d runs", got)
	}
}

func startRequest(agent string) wire.StartRequest {
	return wire.StartRequest{Agent: agent, Input: []byte(`"go"`)}
}

func TestIntakeStartsNoMoreThanThereIsRoomFor(t *testing.T) {
	db, q, clock := anIntake(t)
	const most = 5
	pump := pumpOf(q.Limited(most), callers(t, db, clock), clock)
	pump.Room = q.Limited(most).Room
	for i := range 12 {
		put(t, q, order(i))
	}
	if n, crowded := pump.Once(t.Context()); n != most || crowded {
		t.Errorf("%d started, crowded: %v", n, crowded)
	}
	if n, crowded := pump.Once(t.Context()); n != 0 || !crowded {
		t.Errorf("%d started where there is no room, crowded: %v", n, crowded)
	}
	worked, err := db.Receive(t.Context(), 3)
	if err != nil || len(worked) != 3 {
		t.Fatalf("%d wake-ups, %v", len(worked), err)
	}
	if n, crowded := pump.Once(t.Context()); n != 3 || crowded {
		t.Errorf("%d started when three were taken up, crowded: %v", n, crowded)
	}
}

// One tenant with as many wake-ups as it may have does not keep another one's messages in the
// queue.
func TestIntakeHasRoomForEachTenant(t *testing.T) {
	db, q, _ := anIntake(t)
	q = q.Limited(2)
	for n := range 100 {
		put(t, q, order(n))
		if n < 5 {
			if err := db.Send(t.Context(), engine.Wakeup{Tenant: tenant, Thread: fmt.Sprint("thr_", n)}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	room := func(want int) {
		t.Helper()
		if got, err := q.Room(t.Context()); got != want || err != nil {
			t.Errorf("there is room for %d, %v, want %d", got, err, want)
		}
	}
	room(0)
	for _, other := range []string{"b", "c"} {
		if err := q.Put(t.Context(), other, [][]byte{[]byte("1"), []byte("2"), []byte("3")}); err != nil {
			t.Fatal(err)
		}
	}
	room(4)
	got := map[string]int{}
	for _, d := range receive(t, q, 3) {
		got[d.Tenant]++
	}
	if got[tenant] != 0 || got["b"]+got["c"] != 3 || got["b"] == 3 || got["c"] == 3 {
		t.Errorf("handed over %v", got)
	}
}
