package frontend_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// feedCounting is a store that counts what is read of its feed.
type feedCounting struct {
	frontend.Store
	reads atomic.Int64
	first chan struct{} // closed after the first
}

func (s *feedCounting) Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	found, err := s.Store.Feed(ctx, tenant, q)
	if s.reads.Add(1) == 1 {
		close(s.first)
	}
	return found, err
}

// A hundred readers that wait at the end of a feed cost one, and none misses what comes: those who
// come a little later get the page that the others got.
func TestReadersThatWaitAtOnePlaceReadTheFeedOnce(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start().ID
	start, err := x.FeedStart(t.Context(), anna, query.FeedQuery{Tail: true})
	if err != nil {
		t.Fatal(err)
	}
	store := &feedCounting{Store: x.store, first: make(chan struct{})}
	front := query.New(frontend.New(frontend.Options{Store: store, Catalog: frontendtest.NewCatalog("desk"), Waker: x.waker,
		Clock: stopped{x.clock.Now()}, Random: x.random, Watch: x.store.Watch}))
	var readers sync.WaitGroup
	for range 100 {
		readers.Go(func() {
			page, err := front.Feed(t.Context(), anna, query.FeedQuery{After: start, Wait: time.Minute, Brief: true})
			if err != nil || len(page.Items) != 1 {
				t.Errorf("%+v, %v", page, err)
				return
			}
			var said map[string]any
			if err := json.Unmarshal(page.Items[0].Data, &said); err != nil || len(said) != 2 || said["kind"] != "approval" || len(said["suspension"].(map[string]any)) != 1 {
				t.Errorf("in brief: %s", page.Items[0].Data)
			}
			page.Items[0].Data = nil // what a reader does to its page is its own
		})
	}
	<-store.first
	x.worker.Suspend(run, approval("c"))
	readers.Wait()
	if n := store.reads.Load(); n != 2 {
		t.Errorf("%d reads of the feed", n)
	}
}
