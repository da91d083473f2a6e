package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// JointStore is a store that is the queue as well.
type JointStore interface {
	Store
	Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error
	engine.Receiver
}

// TestJoint checks what a release brings along: see [engine.Settle]. Open returns an empty store
// whose queue hides a delivery for visibility.
func TestJoint(t *testing.T, visibility time.Duration, open func(t *testing.T, clock *Clock) JointStore) {
	for _, c := range jointCases {
		t.Run(c.name, func(t *testing.T) {
			clock := AtMilli(1000)
			store := open(t, clock)
			c.run(&jointTest{storeTest: &storeTest{T: t, store: store}, joint: store, clock: clock, visibility: visibility})
		})
	}
}

var jointCases = []struct {
	name string
	run  func(t *jointTest)
}{
	{"a release settles its delivery and sends the wake-up", testJointSettles},
	{"a release goes on: the run is claimed, and its wake-up received", testJointGoesOn},
	{"a run that goes on sees the signals that came meanwhile", testJointSignals},
	{"a run does not go on while a message waits", testJointTurn},
	{"a run that backs off does not go on", testJointBackoff},
	{"a release to done settles its delivery and claims nothing", testJointDone},
	{"HF10 the reply was lost: the same release again goes on once", testJointRepeated},
	{"HF10 a repeated release goes on with the signals that came since", testJointRepeatedLate},
	{"H5 a repeated release does not go on as another owner", testJointNotMine},
	{"H1 a late copy of a release that went on changes nothing", testJointCopy},
	{"a refused release settles nothing and claims nothing", testJointRefused},
	{"a delivery that another receiver has is left to it", testJointLost},
}

// jointTest is one subtest: a run that was claimed for the delivery d.
type jointTest struct {
	*storeTest
	joint      JointStore
	clock      *Clock
	visibility time.Duration
	d          engine.Delivery
}

// begun is a claimed run and the delivery that it was claimed for.
func (t *jointTest) begun() core.Head {
	t.Helper()
	h := t.start(thread)
	t.must(t.joint.Send(t.Context(), engine.Wakeup{Tenant: tenant, Thread: thread}, 0))
	t.d = t.receive(1)[0]
	return t.claim(h, "w1", 1000)
}

func (t *jointTest) receive(want int) []engine.Delivery {
	t.Helper()
	got, err := t.joint.Receive(t.Context(), 10)
	t.must(err)
	if len(got) != want {
		t.Fatalf("received %v, want %d", got, want)
	}
	return got
}

// release gives h up as running, and goes on with claim if that is not empty.
func (t *jointTest) release(h core.Head, claim string) engine.CommitRequest {
	req := next(h, 1, "one step")
	req.Next.Lease, req.Wake, req.Settle = 0, &engine.Delay{}, &engine.Settle{Delivery: t.d}
	if claim != "" {
		c := claimOf(h, claim, 1200)
		req.Settle.Claim = &c
	}
	return req
}

func (t *jointTest) written(req engine.CommitRequest) engine.Written {
	t.Helper()
	w, err := t.joint.Commit(t.Context(), req)
	t.must(err)
	return w
}

// settled checks that the delivery of the step is gone.
func (t *jointTest) settled() {
	t.Helper()
	t.wantErr(t.joint.Ack(t.Context(), t.d), engine.ErrRefused)
}

func testJointSettles(t *jointTest) {
	h := t.begun()
	w := t.written(t.release(h, ""))
	if !w.Settled || !w.Woken || w.Next != nil || w.Head.Lease != 0 {
		t.Fatalf("%+v", w)
	}
	t.unchanged(w.Head)
	if d := t.receive(1)[0]; d.Thread != thread || d.Attempts != 1 || d.Receipt == t.d.Receipt {
		t.Errorf("%+v", d)
	}
	t.settled()
}

func testJointGoesOn(t *jointTest) {
	h := t.begun()
	w := t.written(t.release(h, "w2"))
	if !w.Settled || !w.Woken || w.Next == nil {
		t.Fatalf("%+v", w)
	}
	got := w.Next.Head
	if got.Epoch != h.Epoch+1 || got.Rev != h.Rev+2 || got.Lease != 1300 || got.Claim != "w2" || got.Tries != 1 || got.Status != core.RunRunning || got.Seq != h.Seq+1 {
		t.Errorf("claimed %+v", got)
	}
	t.unchanged(got)
	t.equal("journal", t.texts(got), []string{"one step"})
	t.settled()
	t.receive(0)
	t.clock.Advance(t.visibility + time.Millisecond) // the owner was lost
	t.wantErr(t.joint.Ack(t.Context(), engine.Delivery{ID: t.d.ID, Receipt: t.d.Receipt}), engine.ErrRefused)
	again := t.receive(1)[0]
	if again.Thread != thread || again.Attempts != 2 {
		t.Errorf("%+v", again)
	}
}

func testJointSignals(t *jointTest) {
	h := t.begun()
	sent := t.signal(say(h, "k1"))
	w := t.written(t.release(h, "w2"))
	if got := w.Next.Head; len(got.Inbox) != 1 || got.Sigs != sent.Sigs {
		t.Errorf("inbox %v, %d signals", got.Inbox, got.Sigs)
	}
	t.unchanged(w.Next.Head)
	t.must(t.joint.Ack(t.Context(), w.Next.Delivery))
}

func testJointTurn(t *jointTest) {
	h := t.begun()
	t.must(t.joint.Send(t.Context(), engine.Wakeup{Tenant: "other", Thread: "thr_b"}, 0))
	w := t.written(t.release(h, "w2"))
	if !w.Settled || !w.Woken || w.Next != nil || w.Head.Lease != 0 {
		t.Fatalf("%+v", w)
	}
	t.settled()
	t.receive(2)
}

func testJointBackoff(t *jointTest) {
	req := t.release(t.begun(), "w2")
	req.Next.NotBefore = 1201
	if w := t.written(req); !w.Settled || !w.Woken || w.Next != nil {
		t.Fatalf("%+v", w)
	}
	t.settled()
	t.receive(1)
}

func testJointDone(t *jointTest) {
	h := t.begun()
	req := finish(h, 1)
	req.Settle = &engine.Settle{Delivery: t.d}
	if w := t.written(req); !w.Settled || w.Woken || w.Next != nil {
		t.Fatalf("%+v", w)
	}
	t.settled()
	t.clock.Advance(t.visibility + time.Millisecond)
	t.receive(0)
}

func testJointRepeated(t *jointTest) {
	req := t.release(t.begun(), "w2")
	first, again := t.written(req), t.written(req)
	if again.Next == nil {
		t.Fatalf("%+v", again)
	}
	t.equal("what goes on", *again.Next, *first.Next)
	t.equal("what was done", [2]bool{again.Settled, again.Woken}, [2]bool{true, true})
	t.unchanged(first.Next.Head)
	t.must(t.joint.Ack(t.Context(), again.Next.Delivery))
	t.clock.Advance(t.visibility + time.Millisecond)
	t.receive(0)

	// and one that did not go on
	t.must(t.joint.Send(t.Context(), engine.Wakeup{Tenant: tenant, Thread: thread}, 0))
	t.d = t.receive(1)[0]
	req = t.release(again.Next.Head, "")
	t.written(req)
	if w := t.written(req); !w.Settled || !w.Woken || w.Next != nil {
		t.Fatalf("%+v", w)
	}
	t.receive(1)
}

func testJointRepeatedLate(t *jointTest) {
	req := t.release(t.begun(), "w2")
	sent := t.signal(say(t.written(req).Next.Head, "k1"))
	again := t.written(req)
	if again.Next == nil || len(again.Next.Head.Inbox) != 1 || again.Next.Head.Sigs != sent.Sigs {
		t.Fatalf("%+v", again)
	}
	t.unchanged(again.Next.Head)
}

func testJointNotMine(t *jointTest) {
	req := t.release(t.begun(), "w2")
	t.must(t.joint.Send(t.Context(), engine.Wakeup{Tenant: "other", Thread: "thr_b"}, 0))
	w := t.written(req)
	if w.Next != nil {
		t.Fatalf("%+v", w)
	}
	t.claim(w.Head, "w3", 1000)
	again, err := t.joint.Commit(t.Context(), req)
	if t.wantErr(err, engine.ErrFenced); again.Next != nil {
		t.Errorf("%+v", again)
	}
}

func testJointCopy(t *jointTest) {
	req := t.release(t.begun(), "w2")
	w := t.written(req)
	t.d = w.Next.Delivery
	later := t.release(w.Next.Head, "w3")
	second := t.written(later)
	_, err := t.joint.Commit(t.Context(), req)
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(second.Next.Head)
	t.receive(0)
	done := t.commit(finish(second.Next.Head, 1))
	_, err = t.joint.Commit(t.Context(), later)
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(done)
}

func testJointRefused(t *jointTest) {
	h := t.begun()
	req := t.release(h, "w2")
	req.AllSeen, req.Seen = true, h.Sigs
	sent := t.signal(say(h, "k1"))
	_, err := t.joint.Commit(t.Context(), req)
	t.wantErr(err, engine.ErrSignals)
	t.unchanged(sent)

	other := t.claim(sent, "w9", sent.Lease+1)
	_, err = t.joint.Commit(t.Context(), t.release(h, "w2"))
	t.wantErr(err, engine.ErrFenced)
	t.unchanged(other)
	t.receive(0)
	t.must(t.joint.Ack(t.Context(), t.d))
}

func testJointLost(t *jointTest) {
	h := t.begun()
	t.clock.Advance(t.visibility + time.Millisecond)
	other := t.receive(1)[0]
	w := t.written(t.release(h, "w2"))
	if w.Next == nil || w.Next.ID != "" || w.Next.Thread != thread || w.Next.Head.Claim != "w2" {
		t.Fatalf("%+v", w.Next)
	}
	t.unchanged(w.Next.Head)
	t.must(t.joint.Ack(t.Context(), other))
	t.clock.Advance(t.visibility + time.Millisecond)
	t.receive(0)
}
