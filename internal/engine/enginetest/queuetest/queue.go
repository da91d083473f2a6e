package queuetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// Queue is what the suite asks of a queue. Dead letters are read and sent again by the adapter's
// own means, which the opener wraps.
type Queue interface {
	engine.Waker
	engine.Receiver

	// Dead returns all dead letters, in any order.
	Dead(ctx context.Context) ([]Dead, error)

	// Redrive sends up to limit of them again and returns how many.
	Redrive(ctx context.Context, limit int) (int, error)
}

// Dead is a message that was handed over too often.
type Dead struct {
	engine.Wakeup
	Attempts int
	Cause    string
}

// How the queues of the suite must be configured.
const (
	Visibility  = 100 * time.Second
	MaxAttempts = 2
)

// Test checks a queue. Open returns an empty one that runs on clock, hides deliveries for
// [Visibility] and hands over [MaxAttempts] times; it is called for each subtest. Within
// a tenant the suite asks for no order, and it asks for nothing that lacks name.
func Test(t *testing.T, open func(t *testing.T, clock *enginetest.Clock) Queue, lacks ...Lack) {
	for _, c := range queueCases {
		t.Run(c.name, func(t *testing.T) {
			clock := enginetest.AtMilli(1000)
			c.run(&queueTest{T: t, clock: clock, queue: open(t, clock), lacks: lacks})
		})
	}
}

type queueTest struct {
	*testing.T
	clock *enginetest.Clock
	queue Queue
	lacks []Lack
}

var queueCases = []struct {
	name string
	run  func(t *queueTest)
}{
	{"C175 C182 a delayed message is visible at its time and not before", testDelay},
	{"a message carries tenant and thread, with any text in them", testCarries},
	{"what was received is hidden until its visibility ends", testVisibility},
	{"C179 an ack with a wrong receipt is refused, the message still taken", testWrongReceipt},
	{"C180 C182 what was given back is visible after its delay, one attempt counted", testNack},
	{"C181 the second nack of two makes a dead letter", testDeadByNack},
	{"two visibilities that end make a dead letter", testDeadByTime},
	{"C192 a late ack is refused once another consumer has the message", testLateAck},
	{"a late ack is taken while no other consumer has the message", testLateAckAlone},
	{"C194 the ack was lost: the message is handed over again", testAckLost},
	{"a redriven dead letter is handed over as new", testRedrive},
	{"20 consumers at once: each message has one", testConsumers},
	{"a page is never larger than asked for", testReceiveMax},
	{"what was sent twice comes twice", testSentTwice},
	{"tenants take turns, however much each has queued", testTurns},
	{"a backlog that is settled fast keeps no other tenant waiting", testTurnsWhenSettled},
}

func (t *queueTest) at(ms int64) { t.clock.Advance(time.UnixMilli(ms).Sub(t.clock.Now())) }

func (t *queueTest) send(thread string, delay time.Duration) {
	t.Helper()
	t.must(t.queue.Send(t.Context(), engine.Wakeup{Tenant: tenant, Thread: thread}, delay))
}

func (t *queueTest) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *queueTest) refused(err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrRefused) {
		t.Fatalf("got %v, want it refused", err)
	}
}

// none checks that nothing is visible.
func (t *queueTest) none() {
	t.Helper()
	ds, err := t.queue.Receive(t.Context(), 10)
	t.must(err)
	if len(ds) != 0 {
		t.Fatalf("received %+v, want nothing", ds)
	}
}

// one receives the only visible message.
func (t *queueTest) one() engine.Delivery {
	t.Helper()
	ds, err := t.queue.Receive(t.Context(), 10)
	t.must(err)
	if len(ds) != 1 {
		t.Fatalf("received %d, want 1", len(ds))
	}
	return ds[0]
}

func (t *queueTest) dead(want ...Dead) {
	t.Helper()
	got, err := t.queue.Dead(t.Context())
	t.must(err)
	t.unreasoned(want, got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("dead letters (-want +got):\n%s", diff)
	}
}

func testDelay(t *queueTest) {
	t.send("thr_a", 4*time.Second)
	for _, at := range []int64{1000, 4999} {
		t.at(at)
		t.none()
	}
	t.at(5000)
	if d := t.one(); d.Attempts != 1 || d.Thread != "thr_a" {
		t.Fatalf("received %+v", d)
	}
}

func testCarries(t *queueTest) {
	for _, s := range enginetest.Strange {
		want := engine.Wakeup{Tenant: "tenant " + s, Thread: s}
		t.must(t.queue.Send(t.Context(), want, 0))
		d := t.one()
		if d.Wakeup != want {
			t.Fatalf("received %+v, sent %+v", d.Wakeup, want)
		}
		t.must(t.queue.Ack(t.Context(), d))
	}
}

func testVisibility(t *queueTest) {
	t.send("thr_a", 0)
	first := t.one()
	t.at(1000 + Visibility.Milliseconds() - 1)
	t.none()
	t.at(1000 + Visibility.Milliseconds())
	again := t.one()
	if again.Attempts != 2 || again.Receipt == first.Receipt {
		t.Fatalf("first %+v, then %+v", first, again)
	}
}

func testWrongReceipt(t *queueTest) {
	t.send("thr_a", 0)
	d := t.one()
	wrong := d
	wrong.Receipt += "x"
	t.refused(t.queue.Ack(t.Context(), wrong))
	t.refused(t.queue.Nack(t.Context(), wrong, 0, "mine"))
	t.none()
	t.must(t.queue.Ack(t.Context(), d))
	t.at(1 << 40)
	t.none()
}

func testNack(t *queueTest) {
	t.send("thr_a", 0)
	d := t.one()
	t.at(1500)
	t.must(t.queue.Nack(t.Context(), d, 500*time.Millisecond, "store down"))
	visible := int64(2000)
	if t.lack(WholeSeconds) {
		visible = 2500
	}
	// where they last, these would remove the message, or show it now
	if !t.lack(LastingReceipts) {
		t.refused(t.queue.Ack(t.Context(), d))
		t.refused(t.queue.Nack(t.Context(), d, 0, "again"))
	}
	t.at(visible - 1)
	t.none()
	t.at(visible)
	if again := t.one(); again.Attempts != 2 || again.Thread != "thr_a" {
		t.Fatalf("received %+v", again)
	}
}

func testDeadByNack(t *queueTest) {
	t.send("thr_a", 0)
	t.must(t.queue.Nack(t.Context(), t.one(), 0, "first"))
	if !t.lack(LateDead) { // where it is, looking is a hand-over
		t.dead()
	}
	t.must(t.queue.Nack(t.Context(), t.one(), 0, "second"))
	t.none()
	t.dead(Dead{engine.Wakeup{Tenant: tenant, Thread: "thr_a"}, 2, "second"})
}

func testDeadByTime(t *queueTest) {
	t.send("thr_a", 0)
	for range MaxAttempts {
		t.one()
		t.clock.Advance(Visibility)
	}
	t.send("thr_b", 0)
	if d := t.one(); d.Thread != "thr_b" {
		t.Fatalf("received %+v", d)
	}
	t.dead(Dead{engine.Wakeup{Tenant: tenant, Thread: "thr_a"}, MaxAttempts, ""})
}

func testLateAck(t *queueTest) {
	t.send("thr_a", 0)
	late := t.one()
	t.clock.Advance(Visibility)
	owner := t.one()
	if t.lack(LastingReceipts) {
		t.lateAckAnyhow(late, owner)
		return
	}
	t.refused(t.queue.Ack(t.Context(), late))
	t.refused(t.queue.Nack(t.Context(), late, 0, "late"))
	t.none()
	t.must(t.queue.Ack(t.Context(), owner))
}

func testLateAckAlone(t *queueTest) {
	t.send("thr_a", 0)
	d := t.one()
	t.clock.Advance(Visibility)
	t.must(t.queue.Ack(t.Context(), d))
	t.none()
}

func testAckLost(t *queueTest) {
	t.send("thr_a", 0)
	d := t.one()
	t.clock.Advance(Visibility)
	again := t.one()
	if again.ID != d.ID || again.Attempts != 2 {
		t.Fatalf("first %+v, then %+v", d, again)
	}
	t.must(t.queue.Ack(t.Context(), again))
	t.clock.Advance(2 * Visibility)
	t.none()
}

func testRedrive(t *queueTest) {
	for _, thread := range []string{"thr_a", "thr_b", "thr_c"} {
		t.send(thread, 0)
		t.must(t.queue.Nack(t.Context(), t.one(), 0, "first"))
		t.must(t.queue.Nack(t.Context(), t.one(), 0, "second"))
		t.none()
	}
	for _, want := range []int{2, 1, 0} {
		n, err := t.queue.Redrive(t.Context(), 2)
		t.must(err)
		if n != want {
			t.Fatalf("redrove %d, want %d", n, want)
		}
	}
	t.dead()
	ds, err := t.queue.Receive(t.Context(), 10)
	t.must(err)
	var threads []string
	for _, d := range ds {
		threads = append(threads, d.Thread)
		if d.Attempts != 1 {
			t.Errorf("%s has %d attempts", d.Thread, d.Attempts)
		}
		t.must(t.queue.Ack(t.Context(), d))
	}
	slices.Sort(threads)
	if want := []string{"thr_a", "thr_b", "thr_c"}; !slices.Equal(threads, want) {
		t.Fatalf("received %v", threads)
	}
}

func testConsumers(t *queueTest) {
	const messages = 50
	for i := range messages {
		t.send(numbered("thr_", i), 0)
	}
	received := make([][]engine.Delivery, 20)
	for _, err := range enginetest.Together(len(received), func(i int) error {
		for {
			ds, err := t.queue.Receive(t.Context(), 3)
			if err != nil || len(ds) == 0 {
				return err
			}
			received[i] = append(received[i], ds...)
		}
	}) {
		t.must(err)
	}
	seen, receipts := map[string]bool{}, map[string]bool{}
	for _, d := range slices.Concat(received...) {
		if seen[d.Thread] || receipts[d.Receipt] {
			t.Errorf("%s was handed over twice", d.Thread)
		}
		seen[d.Thread], receipts[d.Receipt] = true, true
	}
	if len(seen) != messages {
		t.Fatalf("%d of %d were handed over", len(seen), messages)
	}
}

func testReceiveMax(t *queueTest) {
	for i := range 5 {
		t.send(numbered("thr_", i), 0)
	}
	total := 0
	for _, max := range []int{1, 2, 2, 2} {
		ds, err := t.queue.Receive(t.Context(), max)
		t.must(err)
		if len(ds) > max {
			t.Fatalf("received %d, asked for %d", len(ds), max)
		}
		total += len(ds)
	}
	if total != 5 {
		t.Fatalf("received %d of 5", total)
	}
}

func testSentTwice(t *queueTest) {
	t.send("thr_a", 0)
	t.send("thr_a", 0)
	first, err := t.queue.Receive(t.Context(), 1)
	t.must(err)
	second := t.one()
	if len(first) != 1 || first[0].ID == second.ID {
		t.Fatalf("first %+v, then %+v", first, second)
	}
}
