package httpapi_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// asked is a store that counts its reads.
type asked struct {
	frontend.Store
	reads atomic.Int64
}

func (s *asked) Stamp(ctx context.Context) string {
	return s.Store.(interface {
		Stamp(ctx context.Context) string
	}).Stamp(ctx)
}

func (s *asked) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	s.reads.Add(1)
	return s.Store.Load(ctx, tenant, thread)
}

func (s *asked) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	s.reads.Add(1)
	return s.Store.Segments(ctx, tenant, thread, from, to)
}

func (s *asked) Archived(ctx context.Context, tenant, run string) (core.Record, error) {
	s.reads.Add(1)
	return s.Store.Archived(ctx, tenant, run)
}

func (s *asked) Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	s.reads.Add(1)
	return s.Store.Feed(ctx, tenant, q)
}

func (s *asked) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	s.reads.Add(1)
	return s.Store.Runs(ctx, tenant, thread, cursor, limit)
}

func (s *asked) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	s.reads.Add(1)
	return s.Store.Approvals(ctx, tenant, cursor, limit)
}

// ticks is a clock that a test moves.
type ticks struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]bool
}

type timer struct {
	at time.Time
	f  func()
}

func (c *ticks) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *ticks) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := &timer{c.now.Add(d), f}
	c.timers[set] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, set)
	}
}

func (c *ticks) tick(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for set := range c.timers {
		if !set.at.After(c.now) {
			delete(c.timers, set)
			go set.f()
		}
	}
}

// Two hundred open pages of the console ask the store nothing while nothing is stored, however
// often they are told that there is nothing yet; and hear of what is stored then.
func TestOpenPagesAskNothingWhileNothingChanges(t *testing.T) {
	const pages, times = 200, 4
	store := &asked{}
	clock := &ticks{now: time.UnixMilli(1772366400000), timers: map[*timer]bool{}}
	s := newServer(t, settings{clock: clock, wrap: func(db frontend.Store) frontend.Store { store.Store = db; return store },
		options: func(o *httpapi.Options) { o.Limits.KeepAlive, o.Limits.StreamLife = 10*time.Second, 1e6*time.Hour }})
	run := s.startAs("")
	var ready, quiet, over sync.WaitGroup
	for range pages {
		lines := feedOf(t, s)
		ready.Add(1)
		quiet.Add(1)
		over.Go(func() {
			for n := 0; lines.Scan(); {
				switch text := lines.Text(); {
				case strings.HasPrefix(text, ": nothing yet"):
					if n++; n == 2 { // its first wait is over
						ready.Done()
					}
					if n == 2+times {
						quiet.Done()
					}
				case text == "event: call.suspended":
					return
				}
			}
			t.Error("a stream ended")
		})
	}
	moving, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for moving.Err() == nil {
			clock.tick(time.Second)
		}
	}()
	ready.Wait()
	before := store.reads.Load()
	quiet.Wait()
	if still := store.reads.Load() - before; still != 0 {
		t.Errorf("%d reads of the store while nothing changed", still)
	}
	s.worker.Suspend(run.ID, refundCall)
	over.Wait()
}

// feedOf opens the stream of a page of the console.
func feedOf(t *testing.T, s *server) *bufio.Scanner {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/events?from=tail", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	got, err := http.DefaultClient.Do(r)
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("%v, %+v", err, got)
	}
	t.Cleanup(func() { got.Body.Close() })
	return bufio.NewScanner(got.Body)
}
