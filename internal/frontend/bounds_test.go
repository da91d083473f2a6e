package frontend_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// counting counts the payloads that are put beside threads.
type counting struct {
	frontend.Store
	mu   sync.Mutex
	puts int
}

func (s *counting) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	s.mu.Lock()
	s.puts++
	s.mu.Unlock()
	return s.Store.PutPayload(ctx, tenant, thread, digest, body)
}

var large = []byte(`"` + strings.Repeat("x", 10_000) + `"`)

func TestARefusalStoresNoPayload(t *testing.T) {
	store := &counting{}
	x := newFixture(t, func(s frontend.Store) frontend.Store {
		store.Store = s
		return store
	})
	run, sus := x.waiting(core.KindApproval)
	message := wire.MessageRequest{Input: large}
	on := wire.StartRequest{Agent: "desk", Input: large, ThreadID: run.ThreadID}
	decision := wire.Decision{Target: sus, Result: large}
	for _, tt := range []struct {
		name string
		do   func() error
		want refusal.Code
	}{
		{"a message to a run that waits", func() error {
			_, err := x.Message(t.Context(), anna, run.ThreadID, "", message)
			return err
		}, refusal.CodeRunOpen},
		{"the same with a key", func() error {
			_, err := x.Message(t.Context(), anna, run.ThreadID, "k", message)
			return err
		}, refusal.CodeRunOpen},
		{"a start on its thread", func() error {
			_, err := x.Start(t.Context(), anna, "k", on)
			return err
		}, refusal.CodeRunOpen},
		{"C120 a decision that says nothing", func() error {
			_, err := x.Decide(t.Context(), anna, run.ID, decision)
			return err
		}, refusal.CodeUnclearDecision},
		{"a start of an agent that is not there", func() error {
			_, err := x.Start(t.Context(), anna, "", wire.StartRequest{Agent: "nobody", Input: large})
			return err
		}, refusal.CodeAgentNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x.unchanged(run.ThreadID, func() { x.wantCode(tt.do(), tt.want) })
			if store.puts != 0 {
				t.Errorf("%d payloads stored", store.puts)
			}
		})
	}
}

func TestALargeRepeatIsKnownByItsKeyWhileTheRunWaits(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	first, err := x.Message(t.Context(), anna, run.ThreadID, "k", wire.MessageRequest{Input: large})
	if err != nil || !first.New {
		t.Fatalf("%+v, %v", first, err)
	}
	x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	again, err := x.Message(t.Context(), anna, run.ThreadID, "k", wire.MessageRequest{Input: large})
	if err != nil || again.New || again.Run.ID != run.ID {
		t.Errorf("the repeat got %+v, %v", again, err)
	}
	_, err = x.Message(t.Context(), anna, run.ThreadID, "k", wire.MessageRequest{Input: []byte(`"other"`)})
	x.wantCode(err, refusal.CodeIdempotencyMismatch)
}

func TestPagesAreBoundedInBytes(t *testing.T) {
	x := newFixture(t, nil)
	const runs, size = 12, 1 << 20
	thread := ""
	for range runs {
		s, err := x.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`), ThreadID: thread})
		if err != nil {
			t.Fatal(err)
		}
		thread = s.Run.ThreadID
		x.worker.Finish(s.Run.ID, strings.Repeat("x", size))
	}
	t.Run("messages", func(t *testing.T) {
		got := pages(t, func(cursor string) (int, int, string, error) {
			p, err := x.Messages(t.Context(), anna, thread, query.List{Cursor: cursor, Limit: 1000})
			weight := 0
			for _, m := range p.Items {
				weight += len(m.Text)
			}
			return len(p.Items), weight, p.Next, err
		})
		if got != 2*runs {
			t.Errorf("%d messages of %d", got, 2*runs)
		}
	})
	t.Run("runs", func(t *testing.T) {
		got := pages(t, func(cursor string) (int, int, string, error) {
			p, err := x.Runs(t.Context(), anna, query.List{Cursor: cursor, Limit: 100})
			weight := 0
			for _, r := range p.Items {
				text, _ := r.OutputText()
				weight += len(text)
			}
			return len(p.Items), weight, p.Next, err
		})
		if got != runs {
			t.Errorf("%d runs of %d", got, runs)
		}
	})
}

// pages reads a list to its end and holds every page to a bound.
func pages(t *testing.T, read func(cursor string) (items, weight int, next string, err error)) (all int) {
	t.Helper()
	for cursor := ""; ; {
		items, weight, next, err := read(cursor)
		if err != nil {
			t.Fatal(err)
		}
		if weight > 10<<20 {
			t.Errorf("a page of %d bytes", weight)
		}
		if all += items; next == "" {
			return all
		}
		cursor = next
	}
}

func TestPartsAreReadExactly(t *testing.T) {
	x := newFixture(t, nil)
	for _, input := range []string{`[{"TYPE":"text","text":"x"}]`, `[{"type":"text","Text":"x"}]`, `[{"type":"text","text":null}]`,
		`[{"type":"text","text":"x","more":1}]`, `[{"type":"image","text":"x"}]`, `[{"text":"x"}]`, `[null]`, `[[]]`, `[{"type":"text","text":["x"]}]`} {
		_, err := x.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(input)})
		x.wantCode(err, refusal.CodeInvalid)
	}
}

// frozen never gets to the end of a wait.
type frozen struct{ *frontendtest.Clock }

func (frozen) AfterFunc(time.Duration, func()) (stop func()) { return func() {} }

func TestHeldReadsEndWhenTheServerStops(t *testing.T) {
	clock := frozen{frontendtest.NewClock()}
	random, stopping := &frontendtest.Random{}, make(chan struct{})
	db, err := sqlite.Open(t.Context(), t.TempDir()+"/dormouse.db", sqlite.Options{Clock: clock.Clock, Random: random, Sync: dbfile.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	front := query.New(frontend.New(frontend.Options{Store: db, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{},
		Clock: clock, Random: random, Stopping: stopping}))
	s, err := front.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`)})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 2)
	go func() {
		run, err := front.AwaitRun(t.Context(), anna, s.Run.ID, time.Hour)
		if err == nil && run.Status != "created" {
			t.Errorf("status %s", run.Status)
		}
		got <- err
	}()
	go func() {
		_, err := front.Events(t.Context(), anna, s.Run.ID, query.EventQuery{Wait: time.Hour})
		got <- err
	}()
	close(stopping)
	for range 2 {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
}
