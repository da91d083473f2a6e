package sim_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// byAge is a store that lists what waits by age alone, as the table on AWS does. Its cursor is the
// key of the last head that was shown.
type byAge struct{ heads map[string]core.Head }

func (s byAge) Approvals(_ context.Context, _, cursor string, limit int) (page []core.Head, next string, err error) {
	for _, h := range s.heads {
		if h.Oldest > cursor {
			page = append(page, h)
		}
	}
	slices.SortFunc(page, func(a, b core.Head) int { return cmp.Compare(a.Oldest, b.Oldest) })
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].Oldest
	}
	return page, next, nil
}

func (byAge) Runs(context.Context, string, string, string, int) ([]core.Record, string, error) {
	return nil, "", engine.ErrRefused
}

func (byAge) RunsBehind(int64, string) string { return "" }

const listBegins = 1_800_000_000_000

// waitingHead is a head that waits since a time, for calls with these deadlines; 0 is none.
func waitingHead(n int, at int64, deadlines ...int64) core.Head {
	var h core.Head
	h.Tenant, h.Thread, h.At, h.Calls = "acme", fmt.Sprintf("thr_%05d", n), at, map[string]core.Call{}
	h.Oldest = fmt.Sprintf("%05d#run", n)
	for i, deadline := range deadlines {
		h.Calls[fmt.Sprint("c", i)] = core.Call{Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindApproval, Sus: fmt.Sprint("sus", i), Deadline: deadline}}
	}
	return h
}

// leastTime is the key that a list is expected to be in the order of, from the calls alone.
func leastTime(h core.Head) string {
	first := int64(1 << 62)
	for _, c := range h.Calls {
		if c.Deadline != 0 {
			first = min(first, c.Deadline)
		}
	}
	return fmt.Sprintf("%020d %s", first, h.Oldest)
}

// urgentList is the reading of one list by urgency while others come, go, and move forward.
type urgentList struct {
	*testing.T
	*rand.Rand
	store   byAge
	next    int             // the number of the next head
	changed map[string]bool // written while the list is read
	stayed  map[string]core.Head
}

func (l *urgentList) deadline() int64 {
	if l.IntN(3) == 0 {
		return 0
	}
	return listBegins + 1 + l.Int64N(1_000_000)
}

func (l *urgentList) comes(at int64) core.Head {
	deadlines := []int64{l.deadline()}
	for range l.IntN(3) {
		deadlines = append(deadlines, l.deadline())
	}
	h := waitingHead(l.next, at, deadlines...)
	l.store.heads[h.Thread] = h
	l.next++
	return h
}

// meanwhile is what happens between two pages: a few runs are answered, a few new ones wait, and
// one asks something that is due before all others.
func (l *urgentList) meanwhile() {
	var open []string
	for thread := range l.store.heads {
		open = append(open, thread)
	}
	slices.Sort(open)
	l.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	for _, thread := range open[:min(8, len(open))] {
		delete(l.store.heads, thread)
		delete(l.stayed, thread)
	}
	for range l.IntN(8) {
		l.comes(listBegins + 100)
	}
	for _, thread := range open[min(8, len(open)):] {
		if h := l.store.heads[thread]; !l.changed[thread] {
			h = waitingHead(0, listBegins+100, listBegins+1)
			h.Thread, h.Oldest = thread, l.store.heads[thread].Oldest
			l.store.heads[thread] = h
			l.changed[thread] = true
			return
		}
	}
}

// A store without an index lists what waits in windows. No run that stays open is left out, none
// that nothing happened to is listed twice, and a window is in the order of the least time left.
func TestWindowsOfTheInbox(t *testing.T) {
	for seed := range uint64(6) {
		l := &urgentList{T: t, Rand: rand.New(rand.NewPCG(seed, 255)), store: byAge{map[string]core.Head{}}, changed: map[string]bool{}, stayed: map[string]core.Head{}}
		for range 1200 + l.IntN(300) {
			h := l.comes(listBegins - 3_600_000)
			l.stayed[h.Thread] = h
		}
		seen := map[string]int{}
		var order []core.Head
		read := query.Windows(l.store, "acme", listBegins)
		for cursor, pages := "", 1; pages < 200; pages++ {
			if l.IntN(2) == 0 { // another process reads the page
				read = query.Windows(l.store, "acme", listBegins+1000)
			}
			page, next, err := read(t.Context(), cursor, 60)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range page {
				seen[h.Thread]++
				order = append(order, h)
			}
			if cursor = next; cursor == "" {
				break
			}
			l.meanwhile()
		}
		l.check(seed, seen, order)
	}
}

func (l *urgentList) check(seed uint64, seen map[string]int, order []core.Head) {
	for thread := range l.stayed {
		switch n := seen[thread]; {
		case n == 0:
			l.Fatalf("seed %d: %s stayed open and was not listed", seed, thread)
		case n > 1 && !l.changed[thread]:
			l.Fatalf("seed %d: nothing happened to %s and it was listed %d times", seed, thread, n)
		}
	}
	back, last := 0, ""
	for _, h := range order {
		if _, stayed := l.stayed[h.Thread]; !stayed || l.changed[h.Thread] {
			continue
		}
		key := leastTime(h)
		if key < last {
			back++
		}
		last = key
	}
	if back > 3 { // where a window ends
		l.Fatalf("seed %d: a run with less time left is listed behind one with more, %d times", seed, back)
	}
}
