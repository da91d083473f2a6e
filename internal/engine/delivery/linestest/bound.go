package linestest

import (
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// bound is that of the stores in these tests.
var bound = notice.Bound{Failed: 2, New: 4, Bytes: 2000}

// dead are the events of dead letters, the newest first.
func (t *lineTest) dead() (events []int64) {
	t.Helper()
	records, _, err := t.store.Records(t.Context(), tenant, engine.RecordQuery{Endpoint: ops.Endpoint, Dead: true, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		events = append(events, r.Event)
	}
	return events
}

// fail makes an attempt at a notice that fails with an error of so many bytes.
func (t *lineTest) fail(l notice.Line, event int64, size int) notice.Line {
	t.Helper()
	e, _ := l.Entries[event].After(notice.Refused, notice.Attempt{At: 1000, Took: 5, Status: 503, Error: strings.Repeat("x", size)}, 0)
	return t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: event, Entry: &e})
}

func testFullLine(t *lineTest) {
	for event := int64(1); event <= 4; event++ {
		t.handOver(ops, event, event*1000)
	}
	t.want("dead letters of a line with room", t.dead(), []int64(nil))
	t.handOver(ops, 5, 5000)
	l := t.line(ops)
	t.wantEvents(l, 2, 3, 4, 5)
	t.want("last event, entries added, due time", []int64{l.Last, l.Adds, l.Due}, []int64{5, 5, 5000})
	t.handOver(ops, 5, 6000) // a late copy
	t.wantEvents(t.line(ops), 2, 3, 4, 5)
	r, err := t.store.Record(t.Context(), ops, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.want("dead letter", r, notice.Record{Key: ops, Event: 1, Kind: notice.Suspended, Seq: 101, State: notice.StateDead, Since: 1000, At: 5000, Tries: 1,
		Attempts: []notice.Attempt{{At: 5000, Error: notice.TooMany}}})
	for event := int64(6); event <= 100; event++ {
		t.handOver(ops, event, event*1000)
	}
	t.wantEvents(t.line(ops), 97, 98, 99, 100)
	t.want("number of dead letters", len(t.dead()), 96)
}

func testFullOfBytes(t *lineTest) {
	t.handOver(ops, 1, 1000)
	l := t.claim(ops, "c1", 1000)
	for range notice.MostAttempts {
		l = t.fail(l, 1, notice.MostError)
	}
	t.handOver(ops, 2, 2000)
	t.wantEvents(t.line(ops), 2)
	t.want("dead letters", t.dead(), []int64{1})
	l = t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 2, Release: true, Adds: 2})
	t.want("due", []int64{l.Due, l.Lease}, []int64{0, 0}) // the worker goes on, and leaves
}

func testRedriveFull(t *lineTest) {
	for event := int64(1); event <= 7; event++ {
		t.handOver(ops, event, event*1000)
	}
	for i, event := range []int64{1, 2, 3} {
		if err := t.store.RedriveNotice(t.Context(), ops, event, 10_000+int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	l := t.line(ops)
	t.wantEvents(l, 2, 3, 4, 5, 6, 7)
	t.want("dead letters", t.dead(), []int64{1})
	t.want("entries added", l.Adds, int64(10))
}

// testRedriveMeanwhile: a worker gives a notice up, and an operator who finds the record redrives
// it before the worker takes it out of the line, or a copy of that write lands later.
func testRedriveMeanwhile(t *lineTest) {
	t.handOver(ops, 7, 1000)
	t.handOver(ops, 8, 1000)
	l := t.claim(ops, "c1", 1000)
	e, state := l.Entries[7].After(notice.Hopeless, notice.Attempt{At: 1000, Error: "refused"}, 0)
	r := e.Record(ops, 7, state, 1005)
	req := engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 7, Record: &r, Adds: l.Adds}
	t.wantEvents(t.write(req), 8)
	t.wantEvents(t.write(req), 8) // again: the answer was lost
	if err := t.store.RedriveNotice(t.Context(), ops, 7, 2000); err != nil {
		t.Fatal(err)
	}
	req.Record = nil
	now, err := t.store.WriteLine(t.Context(), req)
	t.wantErr(err, engine.ErrRefused)
	t.wantEvents(now, 7, 8)
	t.want("stored", t.line(ops), now)
}

// testHandOverFullAtOnce: while several processes hand the notices over and no worker takes them,
// each notice is in the line or a dead letter.
func testHandOverFullAtOnce(t *lineTest) {
	const events = 20
	t.atOnce(3, func(int) error {
		for ev := int64(1); ev <= events; ev++ {
			if _, err := t.store.HandOver(t.Context(), engine.HandOver{Key: ops, Event: ev, Kind: notice.Decided, Seq: ev, Now: 1000}); err != nil {
				return fmt.Errorf("event %d: %w", ev, err)
			}
		}
		return nil
	})
	l, found := t.line(ops), map[int64]bool{}
	for ev := range l.Entries {
		found[ev] = true
	}
	for _, ev := range t.dead() {
		found[ev] = true
	}
	t.want("waiting", len(l.Entries), bound.New)
	t.want("waiting or dead", len(found), events)
}
