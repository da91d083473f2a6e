package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// fullLine is a line of an endpoint on a table that refuses items of more than 400 KB.
type fullLine struct {
	*testing.T
	store *dynamo.Store
	key   notice.Key
	last  int64
}

func newFullLine(t *testing.T, d *awsdouble.Double) *fullLine {
	return &fullLine{T: t, store: quick(t, d), key: notice.Key{Tenant: "acme", Thread: "thr_a", Endpoint: "ops"}}
}

func (l *fullLine) handOver(event int64) error {
	_, err := l.store.HandOver(l.Context(), engine.HandOver{Key: l.key, Event: event, Kind: notice.DeadlineNear, Seq: event, Now: 1_700_000_000_000})
	return err
}

// grow hands notices over until dead ones are there, and lets each fail as often and at such length
// as an entry remembers.
func (l *fullLine) grow() {
	l.Helper()
	for ; len(l.dead()) == 0; l.last++ {
		if err := l.handOver(l.last + 1); err != nil {
			l.Fatalf("event %d: %v", l.last+1, err)
		}
		l.fail(l.last + 1)
	}
}

func (l *fullLine) fail(event int64) {
	l.Helper()
	now := int64(1_700_000_000_000)
	line, err := l.store.ClaimLine(l.Context(), engine.LineClaim{Key: l.key, Claim: fmt.Sprint(event), Now: now, LeaseEnd: now + 1, Due: now})
	if err != nil {
		l.Fatal(err)
	}
	e := line.Entries[event]
	for range notice.MostAttempts {
		e, _ = e.After(notice.Refused, notice.Attempt{At: now, Took: 9999, Status: 503, Error: strings.Repeat("\x01", 1000)}, 0)
	}
	if _, err = l.store.WriteLine(l.Context(), engine.LineWrite{Key: l.key, Epoch: line.Epoch, Event: event, Entry: &e}); err != nil {
		l.Fatal(err)
	}
	if _, err = l.store.WriteLine(l.Context(), engine.LineWrite{Key: l.key, Epoch: line.Epoch, Release: true, Due: now, Adds: line.Adds}); err != nil {
		l.Fatal(err)
	}
}

func (l *fullLine) dead() []notice.Record {
	l.Helper()
	records, _, err := l.store.Records(l.Context(), l.key.Tenant, engine.RecordQuery{Thread: l.key.Thread, Dead: true, Limit: 10_000})
	if err != nil {
		l.Fatal(err)
	}
	return records
}

func (l *fullLine) waiting() map[int64]notice.Entry {
	l.Helper()
	line, err := l.store.Line(l.Context(), l.key)
	if err != nil {
		l.Fatal(err)
	}
	return line.Entries
}

// An item that is full refuses every update for ever. A line gives up its oldest notices before
// that, however long its errors are and however often nothing is delivered.
func TestALineNeverOutgrowsItsItem(t *testing.T) {
	t.Parallel()
	l := newFullLine(t, newDouble(t))
	l.grow()
	for range 30 { // nothing is attempted any more
		l.last++
		if err := l.handOver(l.last); err != nil {
			t.Fatalf("event %d: %v", l.last, err)
		}
	}
	dead, waiting := l.dead(), l.waiting()
	if len(dead) == 0 || int64(len(dead)+len(waiting)) != l.last {
		t.Errorf("%d are dead and %d wait, of %d", len(dead), len(waiting), l.last)
	}
	for _, r := range dead {
		if r.Event > int64(len(dead)) || r.Attempts[len(r.Attempts)-1].Error != notice.TooMany {
			t.Errorf("dead: %+v", r)
		}
	}
	for _, r := range dead[:min(len(dead), 10)] { // nor when the dead letters come back
		if err := l.store.RedriveNotice(t.Context(), l.key, r.Event, 1_700_000_100_000); err != nil {
			t.Fatalf("redriving event %d: %v", r.Event, err)
		}
	}
	if all := int64(len(l.dead()) + len(l.waiting())); all != l.last {
		t.Errorf("%d are dead or wait, of %d", all, l.last)
	}
}

// A process is lost at each request of a hand-over to a full line. The next hand-over trims the
// line, and each notice is in it or a dead letter at any time.
func TestAHandOverToAFullLineMayStopAnywhere(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	l := newFullLine(t, d)
	l.store = dynamo.New(quickClient(d), dynamo.Options{Table: onDouble(d).table(t), Clock: restless{enginetest.AtMilli(1000)}, Random: enginetest.NewRandom(t, 1), Bound: notice.Bound{Failed: 1, New: 2, Bytes: 10_000}})
	lost := 0
	for event := int64(1); event <= 30; event++ {
		left := int(event) % 4 // requests before the process is lost
		d.Fail(func(awsdouble.Call) awsdouble.Fault {
			if left--; left < 0 {
				return awsdouble.LoseRequest()
			}
			return awsdouble.Fault{}
		})
		err := l.handOver(event)
		d.Fail(nil)
		if errors.Is(err, engine.ErrUnavailable) {
			lost++
			l.found(event-1, event)
			err = l.handOver(event) // by the next owner of the run
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.found(event, event); len(l.waiting()) > 2 {
			t.Fatalf("event %d: %d wait", event, len(l.waiting()))
		}
	}
	if lost < 10 {
		t.Errorf("only %d processes were lost", lost)
	}
}

// found demands that each event up to least waits or is dead, and none behind most.
func (l *fullLine) found(least, most int64) {
	l.Helper()
	found := map[int64]bool{}
	for ev := range l.waiting() {
		found[ev] = true
	}
	for _, r := range l.dead() {
		found[r.Event] = true
	}
	for ev := int64(1); ev <= most; ev++ {
		if !found[ev] && ev <= least {
			l.Errorf("event %d is lost", ev)
		}
		delete(found, ev)
	}
	if len(found) > 0 {
		l.Errorf("found %v behind event %d", found, most)
	}
}
