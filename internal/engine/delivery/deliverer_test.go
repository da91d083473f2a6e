package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

var ops = notice.Key{Tenant: "acme", Thread: "thr_a", Endpoint: "ops"}

// bench is a line on a simulated store, with an endpoint that answers as the test says.
type bench struct {
	*testing.T
	clock    *enginetest.Clock
	store    *sim.Memory
	journal  journal
	answer   func(n delivery.Notice) delivery.Result
	sent     []string
	wakeups  wakeups
	disabled string
	d        *delivery.Deliverer
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, clock: enginetest.AtMilli(1_000_000), journal: journal{}}
	b.store = sim.NewMemory(b.clock)
	b.answer = func(delivery.Notice) delivery.Result { return delivered }
	b.d = delivery.New(delivery.Options{Lines: b.store, Journal: b.journal, Endpoints: b, Waker: &b.wakeups, Clock: b.clock, Random: enginetest.NewRandom(t, 1)})
	return b
}

var (
	delivered = delivery.Result{Outcome: notice.Delivered, Status: 204}
	busy      = delivery.Result{Outcome: notice.Refused, Status: 503, Error: "503 Service Unavailable"}
)

// journal holds one event in each segment, both of the same number.
type journal map[int64]core.Segment

func (j journal) Segments(_ context.Context, _, _ string, from, _ int64) ([]core.Segment, error) {
	return []core.Segment{j[from]}, nil
}

// Send implements [delivery.Endpoints].
func (b *bench) Send(_ context.Context, n delivery.Notice) delivery.Result {
	r := b.answer(n)
	b.sent = append(b.sent, fmt.Sprintf("%d %s %d", n.Event.Seq, n.Kind, r.Status))
	b.clock.Advance(100 * time.Millisecond)
	return r
}

func (b *bench) Disable(_ context.Context, k notice.Key, reason string) error {
	b.disabled = k.Endpoint + ": " + reason
	return nil
}

// wakeups implements [engine.Waker].
type wakeups []time.Duration

func (w *wakeups) Send(_ context.Context, _ engine.Wakeup, delay time.Duration) error {
	*w = append(*w, delay)
	return nil
}

func (b *bench) handOver(event int64) {
	b.Helper()
	b.journal[event] = core.Segment{Seq: event, Events: []core.Event{{Seq: event, Type: core.EventCallSuspended}}}
	if _, err := b.store.HandOver(b.Context(), engine.HandOver{Key: ops, Event: event, Kind: notice.Suspended, Seq: event, Now: b.clock.Now().UnixMilli()}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) deliver() delivery.Report {
	b.Helper()
	r, err := b.d.Deliver(b.Context(), engine.Wakeup{Tenant: ops.Tenant, Thread: ops.Thread, Endpoint: ops.Endpoint})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bench) wantSent(want ...string) {
	b.Helper()
	if !slices.Equal(b.sent, want) {
		b.Fatalf("sent %q, want %q", b.sent, want)
	}
	b.sent = nil
}

// state is what became of each notice that is no longer in the line, oldest first.
func (b *bench) state() (states []string) {
	b.Helper()
	records, _, err := b.store.Records(b.Context(), ops.Tenant, engine.RecordQuery{Limit: 1000})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range slices.Backward(records) {
		states = append(states, fmt.Sprintf("%d %s after %d", r.Event, r.State, r.Tries))
	}
	return states
}

func (b *bench) wantState(want ...string) {
	b.Helper()
	if got := b.state(); !slices.Equal(got, want) {
		b.Fatalf("records %q, want %q", got, want)
	}
}

func (b *bench) line() notice.Line {
	b.Helper()
	l, err := b.store.Line(b.Context(), ops)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// passUntil moves the clock to when the line is due, and delivers, until it is empty or the time is
// over.
func (b *bench) passUntil(end time.Time) {
	b.Helper()
	for due := b.line().Due; due != 0 && !time.UnixMilli(due).After(end); due = b.line().Due {
		b.clock.Advance(max(0, time.UnixMilli(due).Sub(b.clock.Now())))
		b.deliver()
	}
	b.clock.Advance(max(0, end.Sub(b.clock.Now())))
}

func TestNoticesAreDeliveredInOrderAndTheLineIsLeft(t *testing.T) {
	b := newBench(t)
	for _, event := range []int64{3, 5, 9} {
		b.handOver(event)
	}
	b.deliver()
	b.wantSent("3 suspended 204", "5 suspended 204", "9 suspended 204")
	b.wantState("3 delivered after 1", "5 delivered after 1", "9 delivered after 1")
	if l := b.line(); l.Due != 0 || l.Lease != 0 || len(l.Entries) != 0 {
		t.Fatalf("the line is left as %+v", l)
	}
	if r := b.deliver(); r.Claimed {
		t.Fatal("a wake-up too many claimed the line")
	}
}

func TestWhatIsHandedOverDuringAnAttemptIsDeliveredByTheSameClaim(t *testing.T) {
	b := newBench(t)
	b.handOver(3)
	b.answer = func(n delivery.Notice) delivery.Result {
		if n.Event.Seq < 6 {
			b.handOver(n.Event.Seq + 1) // the worker has not seen this one
		}
		return delivered
	}
	b.deliver()
	b.wantSent("3 suspended 204", "4 suspended 204", "5 suspended 204", "6 suspended 204")
	if l := b.line(); l.Due != 0 || l.Epoch != 1 {
		t.Fatalf("the line is left as %+v", l)
	}
}

func TestAFailedNoticeStopsNoOther(t *testing.T) {
	b := newBench(t)
	b.answer = func(n delivery.Notice) delivery.Result {
		if n.Event.Seq == 3 && n.Tries < 2 {
			return busy
		}
		return delivered
	}
	b.handOver(3)
	b.handOver(4)
	b.deliver()
	b.wantSent("3 suspended 503", "4 suspended 204")
	if len(b.wakeups) != 1 || b.wakeups[0] < 2*time.Second || b.wakeups[0] > 5*time.Second {
		t.Fatalf("wake-ups after %v", b.wakeups)
	}
	b.passUntil(b.clock.Now().Add(time.Minute))
	b.wantSent("3 suspended 503", "3 suspended 204")
	b.wantState("4 delivered after 1", "3 delivered after 3")
}

// A receiver that is down for 12 hours gets every notice: the first attempts in the order of
// events, and those that failed again.
func TestAReceiverThatIsDownForTwelveHoursGetsEveryNotice(t *testing.T) {
	b := newBench(t)
	up := b.clock.Now().Add(12 * time.Hour)
	first, got := []int64{}, map[int64]int{}
	b.answer = func(n delivery.Notice) delivery.Result {
		if n.Tries == 0 {
			first = append(first, n.Event.Seq)
		}
		if b.clock.Now().Before(up) {
			return busy
		}
		got[n.Event.Seq]++
		return delivered
	}
	for event := int64(1); event <= 40; event++ {
		b.handOver(event)
		b.passUntil(b.clock.Now().Add(30 * time.Minute))
	}
	b.passUntil(up.Add(12 * time.Hour))
	if !slices.IsSorted(first) || len(first) != 40 {
		t.Errorf("first attempts %v", first)
	}
	for event := int64(1); event <= 40; event++ {
		if got[event] != 1 {
			t.Errorf("event %d was delivered %d times", event, got[event])
		}
	}
	if l := b.line(); l.Due != 0 {
		t.Errorf("the line is left as %+v", l)
	}
}

func TestAfterADayANoticeIsDeadAndCanBeRedriven(t *testing.T) {
	b := newBench(t)
	b.answer = func(delivery.Notice) delivery.Result { return busy }
	b.handOver(3)
	began := b.clock.Now()
	b.passUntil(began.Add(48 * time.Hour))
	r := b.record(3)
	if lived := time.Duration(r.At-r.Since) * time.Millisecond; r.State != notice.StateDead || lived < 20*time.Hour || lived > 24*time.Hour {
		t.Fatalf("%+v, after %v", r, lived)
	}
	if len(r.Attempts) != notice.MostAttempts || r.Attempts[0].Error == "" {
		t.Fatalf("attempts %+v", r.Attempts)
	}
	b.answer, b.sent = func(delivery.Notice) delivery.Result { return delivered }, nil
	if err := b.store.RedriveNotice(t.Context(), ops, 3, b.clock.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
	b.deliver()
	b.wantSent("3 suspended 204")
	if r := b.record(3); r.State != notice.StateDelivered {
		t.Fatalf("%+v", r)
	}
}

// A line is never longer than an item of DynamoDB can hold: the oldest notices become dead letters,
// and none is lost.
func TestALineThatIsFullGivesUpItsOldestNotices(t *testing.T) {
	b := newBench(t)
	b.answer = func(delivery.Notice) delivery.Result { return busy }
	all := notice.Most.Failed + 5
	for event := range int64(all) {
		b.handOver(event + 1)
		b.deliver()
	}
	line, states := b.line(), b.state()
	if len(line.Entries) > notice.Most.Failed || len(line.Entries)+len(states) != all {
		t.Errorf("%d wait and %d are dead, of %d", len(line.Entries), len(states), all)
	}
	for i, state := range states {
		if event := int64(i) + 1; !strings.HasPrefix(state, fmt.Sprintf("%d dead ", event)) {
			t.Errorf("the dead letter %d: %s", i, state)
		}
	}
	b.answer = func(delivery.Notice) delivery.Result { return delivered }
	if err := b.store.RedriveNotice(t.Context(), ops, 1, b.clock.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
	b.deliver()
	if r, err := b.store.Record(t.Context(), ops, 1); err != nil || r.State != notice.StateDelivered {
		t.Errorf("redriven: %s, %v", r.State, err)
	}
}

// A receiver that is only slow is sent a long backlog in order. Beyond the bound, the oldest of it
// is dead.
func TestALongBacklogIsAttemptedInOrder(t *testing.T) {
	b := newBench(t)
	b.store.Bound = notice.Bound{Failed: 10, New: 200, Bytes: notice.Most.Bytes}
	for event := range int64(b.store.Bound.New + 2) {
		b.handOver(event + 1)
	}
	b.wantState("1 dead after 1", "2 dead after 1")
	if b.deliver(); b.sent[0] != "3 suspended 204" {
		t.Errorf("first %q", b.sent[0])
	}
}

// What no longer fits the line while it is attempted is dead. The attempt does not bring it back.
func TestANoticeThatIsCrowdedOutWhileItIsAttemptedStaysOut(t *testing.T) {
	b := newBench(t)
	b.store.Bound = notice.Bound{Failed: 10, New: 3, Bytes: notice.Most.Bytes}
	b.handOver(1)
	b.answer = func(n delivery.Notice) delivery.Result {
		if n.Event.Seq != 1 {
			return delivered
		}
		for event := range int64(3) {
			b.handOver(event + 2)
		}
		return busy
	}
	b.deliver()
	b.wantSent("1 suspended 503", "2 suspended 204", "3 suspended 204", "4 suspended 204")
	if l := b.line(); len(l.Entries) > 0 || l.Due != 0 {
		t.Errorf("the line is %+v", l)
	}
}

func (b *bench) record(event int64) notice.Record {
	b.Helper()
	records, _, err := b.store.Records(b.Context(), ops.Tenant, engine.RecordQuery{Limit: 10})
	if err != nil || len(records) != 1 || records[0].Event != event {
		b.Fatalf("records %+v, %v", records, err)
	}
	return records[0]
}

func TestAnEndpointThatIsGoneIsDisabledAndItsNoticesAreDead(t *testing.T) {
	b := newBench(t)
	b.answer = func(delivery.Notice) delivery.Result {
		if b.disabled != "" {
			return delivery.Result{Outcome: notice.Hopeless, Error: "the endpoint is disabled"}
		}
		return delivery.Result{Outcome: notice.Gone, Status: 410, Error: "410 Gone"}
	}
	b.handOver(3)
	b.handOver(4)
	b.deliver()
	if b.disabled != "ops: 410 Gone" {
		t.Fatalf("disabled: %q", b.disabled)
	}
	b.wantState("3 dead after 1", "4 dead after 1")
}

// An attempt whose record is lost is made again, under the same event.
func TestAnAttemptThatWasNotRecordedIsMadeAgain(t *testing.T) {
	b := newBench(t)
	b.handOver(3)
	lost := true
	d := delivery.New(delivery.Options{Lines: deaf{b.store, &lost}, Journal: b.journal, Endpoints: b, Waker: &b.wakeups, Clock: b.clock,
		Random: enginetest.NewRandom(t, 2)})
	if _, err := d.Deliver(t.Context(), engine.Wakeup{Tenant: ops.Tenant, Thread: ops.Thread, Endpoint: ops.Endpoint}); err == nil {
		t.Fatal("the lost record was no error")
	}
	b.clock.Advance(3 * time.Minute) // its lease is over
	b.deliver()
	b.wantSent("3 suspended 204", "3 suspended 204")
	b.wantState("3 delivered after 1")
}

// deaf doesn't answer the first write.
type deaf struct {
	*sim.Memory
	lost *bool
}

func (d deaf) WriteLine(ctx context.Context, req engine.LineWrite) (notice.Line, error) {
	if *d.lost {
		*d.lost = false
		return notice.Line{}, engine.ErrUnavailable
	}
	return d.Memory.WriteLine(ctx, req)
}
