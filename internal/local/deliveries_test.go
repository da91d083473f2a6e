package local

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// receiver is endpoints that hand over what they get. Each attempt waits for its answer.
type receiver chan attempt

type attempt struct {
	delivery.Notice
	answer chan delivery.Result
}

// Send implements [delivery.Endpoints].
func (r receiver) Send(ctx context.Context, n delivery.Notice) delivery.Result {
	a := attempt{n, make(chan delivery.Result, 1)}
	select {
	case r <- a:
	case <-ctx.Done():
		return delivery.Result{Outcome: notice.Refused, Error: "nobody listens"}
	}
	select {
	case result := <-a.answer:
		return result
	case <-ctx.Done():
		return delivery.Result{Outcome: notice.Refused, Error: "no answer"}
	}
}

var (
	taken = delivery.Result{Outcome: notice.Delivered, Status: 204}
	busy  = delivery.Result{Outcome: notice.Refused, Status: 503, Error: "503 Service Unavailable"}
)

func (r receiver) Disable(context.Context, notice.Key, string) error {
	return errors.New("nothing is disabled here")
}

// next is the next notice, which is delivered.
func (r receiver) next() string {
	n := <-r
	n.answer <- taken
	return fmt.Sprintf("%s to %s", n.Kind, n.Endpoint)
}

// toAll subscribes endpoints to everything.
type toAll []string

func (all toAll) Of(context.Context, core.Head) (subscriptions []notice.Subscription, err error) {
	for _, endpoint := range all {
		subscriptions = append(subscriptions, notice.Subscription{Endpoint: endpoint, On: notice.Kinds})
	}
	return subscriptions, nil
}

func (r *rig) notifying(to receiver, endpoints ...string) Options {
	o := r.options()
	o.notify, o.whom = to, toAll(endpoints)
	return o
}

func TestARunNotifiesItsSubscribers(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	to := make(receiver)
	s := r.startWith(r.notifying(to, "ops"))
	run := s.begin(t)
	if got := to.next(); got != "suspended to ops" {
		t.Errorf("%s", got)
	}
	s.answerFirst(t, s.await(t, run.ID, "waiting"), wire.Decision{Action: "resume"})
	if got := to.next(); got != "decided to ops" {
		t.Errorf("%s", got)
	}
	if got := to.next(); got != "done to ops" {
		t.Errorf("%s", got)
	}
	s.await(t, run.ID, "done")
}

// An endpoint that does not answer holds no run, and no other endpoint.
func TestASilentEndpointHoldsNobody(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	to := make(receiver)
	s := r.startWith(r.notifying(to, "ops", "audit"))
	run := s.begin(t)
	silent := <-to
	s.answerFirst(t, s.await(t, run.ID, "waiting"), wire.Decision{Action: "resume"})
	s.await(t, run.ID, "done")
	kinds := []notice.Kind{}
	for len(kinds) < 3 {
		n := <-to
		if n.Endpoint == silent.Endpoint {
			t.Fatalf("%s is attempted twice at once", n.Endpoint)
		}
		kinds = append(kinds, n.Kind)
		n.answer <- taken
	}
	silent.answer <- busy
	for _, want := range []notice.Kind{notice.Decided, notice.Done} {
		n := <-to
		if n.Kind != want || n.Endpoint != silent.Endpoint {
			t.Errorf("%s to %s, want %s", n.Kind, n.Endpoint, want)
		}
		n.answer <- taken
	}
	if fmt.Sprint(kinds) != "[suspended decided done]" {
		t.Errorf("%v", kinds)
	}
}

// What was not delivered when the server stopped is delivered after its next start, under the same
// id and in order.
func TestNoticesOutliveTheServer(t *testing.T) {
	t.Parallel() // it waits for a second attempt
	r, _ := countingRig(t)
	r.deploy(asked)
	to := make(receiver)
	s := r.startWith(r.notifying(to, "ops"))
	run := s.begin(t)
	lost := <-to
	s.await(t, run.ID, "waiting")
	lost.answer <- busy
	s.end(t)

	s = r.startWith(r.notifying(to, "ops"))
	s.answerFirst(t, s.await(t, run.ID, "waiting"), wire.Decision{Action: "resume"})
	got := map[int64]notice.Kind{}
	for len(got) < 3 {
		n := <-to
		if n.Event.Seq == lost.Event.Seq && n.Tries != 1 {
			t.Errorf("the lost notice is attempt %d", n.Tries)
		}
		got[n.Event.Seq] = n.Kind
		n.answer <- taken
	}
	if got[lost.Event.Seq] != notice.Suspended {
		t.Errorf("the lost notice did not come again: %v", got)
	}
}

func TestDeliveriesHaveBoundsOfTheirOwn(t *testing.T) {
	d := &deliveries{tenant: map[string]int{}, line: map[engine.Wakeup]bool{}}
	begun := func(tenant string) (n int) {
		for i := range 2 * mostDeliveries {
			if d.begin(engine.Wakeup{Tenant: tenant, Thread: fmt.Sprint(i), Endpoint: "ops"}) {
				n++
			}
		}
		return n
	}
	if n := begun("acme"); n != mostOfTenant {
		t.Errorf("%d of one tenant", n)
	}
	one := engine.Wakeup{Tenant: "acme", Thread: "0", Endpoint: "ops"}
	d.end(one)
	if !d.begin(one) || d.begin(one) {
		t.Error("a line that is at work began again, or one that ended did not")
	}
	if n := begun("other") + begun("third"); n != mostDeliveries-mostOfTenant {
		t.Errorf("%d of the others", n)
	}
}
