// Package linestest is the contract of stores of delivery lines, as one suite for all of them.
package linestest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// Store is what a store of delivery lines is asked for.
type Store interface {
	engine.Lines
	engine.Overdue
	delivery.Lines
	records
	Line(ctx context.Context, k notice.Key) (notice.Line, error)
	ThreadLines(ctx context.Context, tenant, thread string) (map[string]notice.Line, error)
}

// records are what became of notices.
type records interface {
	RedriveNotice(ctx context.Context, k notice.Key, event, now int64) error
	ForgetNotice(ctx context.Context, k notice.Key, event int64) error
	Record(ctx context.Context, k notice.Key, event int64) (notice.Record, error)
	Records(ctx context.Context, tenant string, q engine.RecordQuery) (records []notice.Record, next string, err error)
}

// Test checks a store. Open returns an empty one, whose lines have this bound. The test's cleanup
// closes it.
func Test(t *testing.T, open func(t *testing.T, b notice.Bound) Store) {
	bounded := map[string]func(*lineTest){
		"a full line gives up its oldest notices":                      testFullLine,
		"a line that is full of bytes gives up what failed":            testFullOfBytes,
		"a line that is full takes a dead notice for another":          testRedriveFull,
		"what was redriven meanwhile is not removed":                   testRedriveMeanwhile,
		"many hand over to a full line, and each notice waits or died": testHandOverFullAtOnce,
	}
	for name, run := range bounded {
		t.Run(name, func(t *testing.T) { run(&lineTest{t, open(t, bound)}) })
	}
	for name, run := range map[string]func(*lineTest){
		"a notice makes its line, which is due":                      testFirstNotice,
		"a notice is handed over once, and none before it any more":  testHandOverOnce,
		"lines of a thread are apart, and those of other tenants":    testLinesApart,
		"a line is claimed when it is due, by one at a time":         testClaimLine,
		"a line that the sweep woke is claimed":                      testClaimSwept,
		"a repeated claim is the same claim":                         testClaimLineAgain,
		"a claim whose lease is over is lost":                        testLineIsFenced,
		"a write changes its entry and nothing else":                 testWriteLine,
		"a line that got a notice meanwhile is not left":             testLeaveUnseen,
		"a line without entries is in no index":                      testLeaveLine,
		"a released line is due when it says":                        testReleaseLine,
		"what was delivered or given up is listed, newest first":     testRecords,
		"a dead notice is redriven once":                             testRedriveNotice,
		"a dead notice is forgotten once, and no other":              testForgetNotice,
		"many hand over and one works, and each notice is seen once": testHandOverAtOnce,
	} {
		t.Run(name, func(t *testing.T) { run(&lineTest{t, open(t, notice.Most)}) })
	}
}

// lineTest is one subtest with its store. Its methods fail the test if what they do does not work.
type lineTest struct {
	*testing.T
	store Store
}

const (
	tenant = "acme"
	thread = "thr_a"
	second = int64(1000)
)

var ops = notice.Key{Tenant: tenant, Thread: thread, Endpoint: "ops"}

func (t *lineTest) handOver(k notice.Key, event, now int64) {
	t.Helper()
	if _, err := t.store.HandOver(t.Context(), engine.HandOver{Key: k, Event: event, Kind: notice.Suspended, Seq: event + 100, Now: now}); err != nil {
		t.Fatal(err)
	}
}

func claimOfLine(k notice.Key, claim string, now int64) engine.LineClaim {
	return engine.LineClaim{Key: k, Claim: claim, Now: now, LeaseEnd: now + 10*second, Due: now + 60*second}
}

func (t *lineTest) claim(k notice.Key, claim string, now int64) notice.Line {
	t.Helper()
	l, err := t.store.ClaimLine(t.Context(), claimOfLine(k, claim, now))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (t *lineTest) write(req engine.LineWrite) notice.Line {
	t.Helper()
	l, err := t.store.WriteLine(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// due are the endpoints of the lines that are due at now; they are so again at once.
func (t *lineTest) due(now int64) (endpoints []string) {
	t.Helper()
	found, err := t.store.TakeOverdue(t.Context(), now, now, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range found {
		endpoints = append(endpoints, w.Tenant+"/"+w.Thread+"/"+w.Endpoint)
	}
	slices.Sort(endpoints)
	return endpoints
}

func (t *lineTest) line(k notice.Key) notice.Line {
	t.Helper()
	l, err := t.store.Line(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (t *lineTest) wantEvents(l notice.Line, want ...int64) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(l.Entries)); !slices.Equal(got, want) {
		t.Fatalf("the line has the events %v, want %v", got, want)
	}
}

func (t *lineTest) want(what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (t *lineTest) wantErr(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func testFirstNotice(t *lineTest) {
	_, err := t.store.Line(t.Context(), ops)
	t.wantErr(err, engine.ErrNotFound)
	t.handOver(ops, 7, 1000)
	l := t.line(ops)
	t.want("line", l, notice.Line{Last: 7, Adds: 1, At: 1000, Due: 1000, Entries: map[int64]notice.Entry{7: {Kind: notice.Suspended, Seq: 107, Since: 1000}}})
	t.want("due before", t.due(999), []string(nil))
	t.want("due", t.due(1000), []string{"acme/thr_a/ops"})
}

func testHandOverOnce(t *lineTest) {
	t.handOver(ops, 7, 1000)
	l := t.claim(ops, "c1", 1000)
	t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 7, Release: true, Adds: l.Adds})
	t.handOver(ops, 7, 2000) // a late copy of what has been delivered
	t.handOver(ops, 6, 2000)
	l = t.line(ops)
	t.wantEvents(l)
	t.want("due time, last event, entries added", []int64{l.Due, l.Last, l.Adds}, []int64{0, 7, 1})
	t.handOver(ops, 8, 3000)
	t.wantEvents(t.line(ops), 8)
}

func testLinesApart(t *lineTest) {
	keys := []notice.Key{ops, {Tenant: tenant, Thread: thread, Endpoint: "a#b/c%"}, {Tenant: tenant, Thread: "thr_b", Endpoint: "ops"},
		{Tenant: "other", Thread: thread, Endpoint: "ops"}}
	for i, k := range keys {
		t.handOver(k, int64(i)+1, 1000)
	}
	for i, k := range keys {
		t.wantEvents(t.line(k), int64(i)+1)
	}
	lines, err := t.store.ThreadLines(t.Context(), tenant, thread)
	if err != nil {
		t.Fatal(err)
	}
	t.want("endpoints of the thread", slices.Sorted(maps.Keys(lines)), []string{"a#b/c%", "ops"})
	t.wantEvents(lines["a#b/c%"], 2)
	t.want("due", t.due(1000), []string{"acme/thr_a/a#b/c%", "acme/thr_a/ops", "acme/thr_b/ops", "other/thr_a/ops"})
}

func testClaimLine(t *lineTest) {
	_, err := t.store.ClaimLine(t.Context(), claimOfLine(ops, "c1", 1000))
	t.wantErr(err, engine.ErrRefused) // no such line
	t.handOver(ops, 7, 100_000)
	_, err = t.store.ClaimLine(t.Context(), claimOfLine(ops, "c1", 100_000-notice.Early-1))
	t.wantErr(err, engine.ErrRefused) // not due yet
	l := t.claim(ops, "c2", 100_000-notice.Early)
	t.want("epoch, lease, due", []int64{l.Epoch, l.Lease, l.Due}, []int64{1, 105_000, 155_000})
	t.wantEvents(l, 7)
	_, err = t.store.ClaimLine(t.Context(), claimOfLine(ops, "c3", 105_000))
	t.wantErr(err, engine.ErrRefused) // its worker lives
	t.handOver(ops, 8, 105_001)       // due again, but claimed
	if l = t.claim(ops, "c4", 105_001); l.Epoch != 2 {
		t.Fatalf("epoch %d after the second claim", l.Epoch)
	}
	t.wantEvents(l, 7, 8)
}

// testClaimSwept: the sweep moves the due time of a line on before it sends the wake-up.
func testClaimSwept(t *lineTest) {
	t.handOver(ops, 7, 1000)
	if due, err := t.store.TakeOverdue(t.Context(), 2000, 60_000, 10); err != nil || len(due) != 1 {
		t.Fatalf("due: %v, %v", due, err)
	}
	t.wantEvents(t.claim(ops, "c1", 2000), 7)
}

func testClaimLineAgain(t *lineTest) {
	t.handOver(ops, 7, 1000)
	first := t.claim(ops, "c1", 1000)
	t.want("the claim again", t.claim(ops, "c1", 1000), first)
	t.write(engine.LineWrite{Key: ops, Epoch: 1, Release: true, Due: 2000, Adds: 1})
	_, err := t.store.ClaimLine(t.Context(), claimOfLine(ops, "c1", 2000))
	t.wantErr(err, engine.ErrRefused) // a late copy of a claim that was given up
	t.claim(ops, "c2", 2000)
}

func testLineIsFenced(t *lineTest) {
	t.handOver(ops, 7, 1000)
	old := t.claim(ops, "c1", 1000)
	t.handOver(ops, 8, 20_000)
	l := t.claim(ops, "c2", 20_000)
	_, err := t.store.WriteLine(t.Context(), engine.LineWrite{Key: ops, Epoch: old.Epoch, Event: 7})
	t.wantErr(err, engine.ErrFenced)
	_, err = t.store.WriteLine(t.Context(), engine.LineWrite{Key: ops, Epoch: old.Epoch, Release: true, Adds: l.Adds})
	t.wantErr(err, engine.ErrFenced)
	t.want("line", t.line(ops), l)
}

func testLeaveUnseen(t *lineTest) {
	t.handOver(ops, 7, 1000)
	l := t.claim(ops, "c1", 1000)
	t.handOver(ops, 8, 1500)
	leave := engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 7, Release: true, Adds: l.Adds}
	now, err := t.store.WriteLine(t.Context(), leave)
	t.wantErr(err, engine.ErrRefused)
	t.wantEvents(now, 7, 8) // nothing of it was written, and what is there is shown
	t.want("stored", t.line(ops), now)
	leave.Adds = now.Adds
	leave.Due = 9000
	t.wantEvents(t.write(leave), 8)
}

func testLeaveLine(t *lineTest) {
	t.handOver(ops, 7, 1000)
	l := t.claim(ops, "c1", 1000)
	l = t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 7, Release: true, Adds: l.Adds})
	t.want("lease, due", []int64{l.Lease, l.Due}, []int64{0, 0})
	t.want("due", t.due(1<<40), []string(nil))
	_, err := t.store.ClaimLine(t.Context(), claimOfLine(ops, "c2", 1<<40))
	t.wantErr(err, engine.ErrRefused)
	t.handOver(ops, 8, 5000)
	t.want("due", t.due(5000), []string{"acme/thr_a/ops"})
}

func testReleaseLine(t *lineTest) {
	t.handOver(ops, 7, 1000)
	l := t.claim(ops, "c1", 1000)
	t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Release: true, Due: 50_000, Adds: l.Adds})
	t.want("due before", t.due(49_999), []string(nil))
	t.want("due", t.due(50_000), []string{"acme/thr_a/ops"})
	t.claim(ops, "c2", 50_000)
}

func testRecords(t *lineTest) {
	other := notice.Key{Tenant: tenant, Thread: "thr_b", Endpoint: "chat"}
	put := func(k notice.Key, event int64, s notice.State) notice.Record {
		t.handOver(k, event, event*1000)
		l := t.claim(k, fmt.Sprint("claim ", event), event*1000)
		e, _ := l.Entries[event].After(notice.Hopeless, notice.Attempt{At: event * 1000, Took: 5, Error: "refused"}, 0)
		r := e.Record(k, event, s, event*1000+5)
		req := engine.LineWrite{Key: k, Epoch: l.Epoch, Event: event, Record: &r, Release: true, Adds: l.Adds}
		t.write(req)
		t.write(req) // again: the same record
		return r
	}
	a, b, c := put(ops, 1, notice.StateDelivered), put(other, 2, notice.StateDead), put(ops, 3, notice.StateDead)
	for _, q := range []struct {
		engine.RecordQuery
		want []notice.Record
	}{
		{engine.RecordQuery{}, []notice.Record{c, b, a}},
		{engine.RecordQuery{Dead: true}, []notice.Record{c, b}},
		{engine.RecordQuery{Endpoint: "ops"}, []notice.Record{c, a}},
		{engine.RecordQuery{Thread: thread}, []notice.Record{c, a}},
		{engine.RecordQuery{Thread: thread, Endpoint: "ops", Dead: true}, []notice.Record{c}},
		{engine.RecordQuery{Endpoint: "none"}, nil},
	} {
		for _, limit := range []int{1, 2, 10} {
			q.Limit, q.Cursor = limit, ""
			var got []notice.Record
			for range 10 {
				page, next, err := t.store.Records(t.Context(), tenant, q.RecordQuery)
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, page...); next == "" {
					break
				}
				q.Cursor = next
			}
			t.want("records", got, q.want)
		}
	}
	none, _, err := t.store.Records(t.Context(), "other", engine.RecordQuery{Limit: 10})
	if err != nil || len(none) > 0 {
		t.Fatalf("another tenant sees %v, %v", none, err)
	}
	_, _, err = t.store.Records(t.Context(), tenant, engine.RecordQuery{Limit: 10, Cursor: "made up"})
	t.wantErr(err, engine.ErrRefused)
}

func testRedriveNotice(t *lineTest) {
	t.wantErr(t.store.RedriveNotice(t.Context(), ops, 7, 1000), engine.ErrNotFound)
	t.handOver(ops, 7, 1000)
	t.wantErr(t.store.RedriveNotice(t.Context(), ops, 7, 1000), engine.ErrNotFound) // in line
	l := t.claim(ops, "c1", 1000)
	e, _ := l.Entries[7].After(notice.Gone, notice.Attempt{At: 1000, Took: 5, Status: 410, Error: "410 Gone"}, 0)
	r := e.Record(ops, 7, notice.StateDead, 1005)
	t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 7, Record: &r, Release: true, Adds: l.Adds})
	if err := t.store.RedriveNotice(t.Context(), ops, 7, 9000); err != nil {
		t.Fatal(err)
	}
	l = t.line(ops)
	t.want("line", l, notice.Line{Epoch: 1, Claim: "c1", Last: 7, Adds: 2, At: 9000, Due: 9000,
		Entries: map[int64]notice.Entry{7: {Kind: notice.Suspended, Seq: 107, Since: 9000, NotBefore: 9000, Tries: 1, Attempts: r.Attempts}}})
	t.wantErr(t.store.RedriveNotice(t.Context(), ops, 7, 9000), engine.ErrNotFound) // in line
	l = t.claim(ops, "c2", 9000)
	done := l.Entries[7].Record(ops, 7, notice.StateDelivered, 9005)
	t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 7, Record: &done, Release: true, Adds: l.Adds})
	t.wantErr(t.store.RedriveNotice(t.Context(), ops, 7, 9000), engine.ErrNotFound) // delivered
}

func testForgetNotice(t *lineTest) {
	end := func(event int64, s notice.State) notice.Record {
		t.handOver(ops, event, event*1000)
		l := t.claim(ops, fmt.Sprint("claim ", event), event*1000)
		e, _ := l.Entries[event].After(notice.Hopeless, notice.Attempt{At: event * 1000, Took: 5, Error: "refused"}, 0)
		r := e.Record(ops, event, s, event*1000+5)
		t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: event, Record: &r, Release: true, Adds: l.Adds})
		return r
	}
	delivered, dead := end(1, notice.StateDelivered), end(2, notice.StateDead)
	for _, want := range []notice.Record{delivered, dead} {
		r, err := t.store.Record(t.Context(), ops, want.Event)
		if err != nil {
			t.Fatal(err)
		}
		t.want("record", r, want)
	}
	foreign := notice.Key{Tenant: "other", Thread: thread, Endpoint: "ops"}
	_, err := t.store.Record(t.Context(), foreign, 2)
	t.wantErr(err, engine.ErrNotFound)
	t.wantErr(t.store.ForgetNotice(t.Context(), foreign, 2), engine.ErrNotFound)
	t.wantErr(t.store.ForgetNotice(t.Context(), ops, 1), engine.ErrNotFound) // delivered
	if err := t.store.ForgetNotice(t.Context(), ops, 2); err != nil {
		t.Fatal(err)
	}
	t.wantErr(t.store.ForgetNotice(t.Context(), ops, 2), engine.ErrNotFound)
	t.wantErr(t.store.RedriveNotice(t.Context(), ops, 2, 9000), engine.ErrNotFound)
	if _, err := t.store.Record(t.Context(), ops, 1); err != nil {
		t.Fatal(err)
	}
}
