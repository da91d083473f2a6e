package dynamo_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/meter"
)

// mostShards is how many a stack may have, and how many its sweep reads.
const mostShards = 64

// withShards is a store of a stack with so many shards, on a table that may have had others.
func (s server) withShards(t *testing.T, api dynamo.API, table string, shards int) *dynamo.Store {
	t.Helper()
	return dynamo.New(api, dynamo.Options{Table: table, Shards: shards, Reads: mostShards,
		Clock: standing{at: enginetest.AtMilli(1000)}, Random: enginetest.NewRandom(t, cmp.Or(*seed, 1))})
}

func TestStoreWithManyShards(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		enginetest.TestStore(t, func(t *testing.T) enginetest.Store { return s.withShards(t, s.client(), s.table(t), 16) })
	})
}

// Stacks write to 4, 16 and 64 shards, one after the other or while a rollout lasts, and a sweep of
// any of them finds what all have written, each entry once.
func TestASweepFindsTheEntriesOfEveryNumberOfShards(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		table := s.table(t)
		var threads []string
		for i, shards := range []int{4, 16, 64, 4} {
			store := s.withShards(t, s.client(), table, shards)
			for n := range 20 {
				h := firstHead(fmt.Sprintf("thr_%d_%d", i, n))
				_, err := store.Start(t.Context(), engine.StartRequest{Head: h, Due: 1000})
				must(t, err)
				threads = append(threads, h.Thread)
			}
		}
		slices.Sort(threads)
		for sweep, shards := range []int{16, 4, 64} { // rises, falls, rises
			now, next := int64(5000+sweep*10_000), int64(12_000+sweep*10_000)
			store := s.withShards(t, s.client(), table, shards)
			got, err := store.TakeOverdue(t.Context(), now, next, 1000)
			must(t, err)
			if !slices.Equal(taken(got), threads) {
				t.Errorf("with %d shards the sweep takes %d of %d threads", shards, len(got), len(threads))
			}
			if again, err := store.TakeOverdue(t.Context(), now, next, 1000); err != nil || len(again) > 0 {
				t.Errorf("with %d shards it takes %d twice, %v", shards, len(again), err)
			}
		}
	})
}

// An entry that another number of shards placed goes over with the next write of its due time, and
// leaves the index with its run.
func TestAnEntryGoesOverToAnotherNumberOfShards(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		table := s.table(t)
		before, after := s.withShards(t, s.client(), table, 4), s.withShards(t, s.client(), table, 64)
		for n := range 20 {
			h := firstHead(fmt.Sprint("thr_", n))
			_, err := before.Start(t.Context(), engine.StartRequest{Head: h, Due: 1000})
			must(t, err)
			_, err = after.Signal(t.Context(), engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: "cancel", Signal: core.Signal{Kind: core.SignalCancel, ID: "cancel", At: 1}, Due: 2000})
			must(t, err)
		}
		for name, store := range map[string]*dynamo.Store{"4": before, "64": after} {
			if oldest, err := store.OldestDue(t.Context(), 9000); err != nil || oldest == 0 {
				t.Errorf("with %s shards: the oldest is due at %d, %v", name, oldest, err)
			}
		}
		got, err := after.TakeOverdue(t.Context(), 9000, 12_000, 1000)
		must(t, err)
		if len(got) != 20 {
			t.Errorf("taken %d, want each of 20 once", len(got))
		}
	})
}

// What an idle sweep reads in a minute; docs/guides/deploy-on-aws.md has the number.
func TestWhatASweepReads(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	for reads, want := range map[int]float64{16: 16, mostShards: 64} {
		units := meter.New(quickClient(d))
		store := dynamo.New(units, dynamo.Options{Table: onDouble(d).table(t), Shards: 16, Reads: reads, Clock: restless{enginetest.AtMilli(1000)}, Random: enginetest.NewRandom(t, 1)})
		_, err := store.TakeOverdue(t.Context(), 5000, 9000, 1000)
		must(t, err)
		_, err = store.OldestDue(t.Context(), 5000)
		must(t, err)
		if read, write := units.Take(); read != want || write != 0 {
			t.Errorf("a sweep of %d partitions reads %v and writes %v units, want %v and none", reads, read, write, want)
		}
	}
}
