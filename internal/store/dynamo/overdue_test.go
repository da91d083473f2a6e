package dynamo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/partial"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// overdueHeads starts n runs, the first of them due for longest.
func overdueHeads(t *testing.T, store *dynamo.Store, n int) (threads []string) {
	t.Helper()
	for i := range n {
		h := firstHead(fmt.Sprint("thr_", i))
		_, err := store.Start(t.Context(), engine.StartRequest{Head: h, Due: int64(1000 + i)})
		must(t, err)
		threads = append(threads, h.Thread)
	}
	return threads
}

func taken(ws []engine.Wakeup) (threads []string) {
	for _, w := range ws {
		threads = append(threads, w.Thread)
	}
	slices.Sort(threads)
	return threads
}

func TestAThrottledHeadKeepsNoOtherAsleep(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	store := quick(t, d)
	threads := overdueHeads(t, store, 6)
	d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "UpdateItem" && strings.Contains(c.Key, threads[0]) {
			return awsdouble.Throttle()
		}
		return awsdouble.Fault{}
	})
	got, err := store.TakeOverdue(t.Context(), 5000, 9000, 100)
	if !slices.Equal(taken(got), threads[1:]) {
		t.Errorf("taken %v", got)
	}
	failed, ok := errors.AsType[partial.Failures](err)
	if !ok || len(failed) != 1 || !errors.Is(err, engine.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if entry, ok := errors.AsType[*partial.EntryError](failed[0]); !ok || entry.Tenant != "acme" || entry.Thread != threads[0] {
		t.Errorf("the failure does not name the thread: %v", failed[0])
	}
	d.Fail(nil)
	if got, err = store.TakeOverdue(t.Context(), 5000, 9000, 100); err != nil || !slices.Equal(taken(got), threads[:1]) {
		t.Errorf("the next sweep took %v, %v", got, err)
	}
}

func TestAShardThatCannotBeReadKeepsNoOtherFromBeingRead(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	store := quick(t, d)
	threads := overdueHeads(t, store, 12)
	var once atomic.Bool // and each attempt of that query
	d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "Query" && (c.Attempt > 1 || once.CompareAndSwap(false, true)) {
			return awsdouble.Throttle()
		}
		return awsdouble.Fault{}
	})
	first, err := store.TakeOverdue(t.Context(), 5000, 9000, 100)
	if !errors.Is(err, engine.ErrUnavailable) || len(first) == 0 {
		t.Fatalf("taken %v, %v", first, err)
	}
	second, err := store.TakeOverdue(t.Context(), 5000, 9000, 100)
	slices.Sort(threads)
	if got := taken(append(first, second...)); err != nil || !slices.Equal(got, threads) {
		t.Errorf("both sweeps took %v, %v", got, err)
	}
}

// An age of the oldest entry is known even if one shard does not answer.
func TestTheOldestDueIsThatOfTheShardsThatCanBeRead(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	store := quick(t, d)
	overdueHeads(t, store, 12)
	var first atomic.Bool
	d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "Query" && (c.Attempt > 1 || first.CompareAndSwap(false, true)) {
			return awsdouble.Throttle()
		}
		return awsdouble.Fault{}
	})
	if oldest, err := store.OldestDue(t.Context(), 5000); !errors.Is(err, engine.ErrUnavailable) || oldest < 1000 || oldest > 1011 {
		t.Errorf("got %d, %v", oldest, err)
	}
}
