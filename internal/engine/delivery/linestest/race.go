package linestest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// testHandOverAtOnce: while several processes hand the notices over, in the order of events, one
// worker takes them out. It sees each once, and the line leaves the index with the last.
func testHandOverAtOnce(t *lineTest) {
	const events = 30
	seen := map[int64]int{}
	t.atOnce(4, func(i int) error { return t.part(i, seen, events) })
	for ev := int64(1); ev <= events; ev++ {
		if seen[ev] != 1 {
			t.Errorf("event %d was seen %d times", ev, seen[ev])
		}
	}
	t.wantEvents(t.line(ops))
	t.want("due", t.due(1<<40), []string(nil))
}

// atOnce does something several times at once.
func (t *lineTest) atOnce(times int, do func(i int) error) {
	t.Helper()
	errs := make([]error, times)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// part is what one of them does: the first works on the line, the others hand the notices over.
func (t *lineTest) part(i int, seen map[int64]int, events int) error {
	if i == 0 {
		return t.drain(seen, events)
	}
	for ev := int64(1); ev <= int64(events); ev++ {
		if _, err := t.store.HandOver(t.Context(), engine.HandOver{Key: ops, Event: ev, Kind: notice.Decided, Seq: ev, Now: 1000}); err != nil {
			return err
		}
	}
	return nil
}

// drain works on the line until it has seen so many events. It takes one entry out with each write,
// and gives the claim up with the last that it knows of.
func (t *lineTest) drain(seen map[int64]int, events int) error {
	for n := 0; len(seen) < events; n++ {
		l, err := t.store.ClaimLine(t.Context(), claimOfLine(ops, fmt.Sprint("claim ", n), 1000))
		if errors.Is(err, engine.ErrRefused) {
			continue // nothing is due yet
		}
		for held := true; held && err == nil; {
			ev, some := l.Next(1000)
			if some {
				seen[ev]++
			}
			req := engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: ev, Adds: l.Adds, Release: len(l.Entries) <= 1}
			held = !req.Release
			l, err = t.store.WriteLine(t.Context(), req)
			if errors.Is(err, engine.ErrRefused) { // more came meanwhile
				held, req.Release, req.Adds = true, false, 0
				l, err = t.store.WriteLine(t.Context(), req)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
