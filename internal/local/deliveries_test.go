package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
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
		return delivery.Result{Outcome: notice.Refused, Error: "the test has ended"}
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

func TestASilentEndpointDelaysNoRunAndNoOtherEndpoint(t *testing.T) {
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
	d := newDeliveries(delivery.Options{})
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
	if n := begun("other"); n != mostDeliveries-mostOfTenant {
		t.Errorf("%d of another tenant", n)
	}
	if n := begun("third"); n != shareOfTenant {
		t.Errorf("%d of a tenant that came when all were taken", n)
	}
	d.end(one)
	if d.begin(one) {
		t.Error("a tenant has more than its share while all are taken")
	}
}

// The endpoints of two tenants hold every delivery. The notices of a third arrive all the same.
func TestSilentEndpointsOfTwoTenantsDelayNoThird(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked + "tenants: ['*']\n")
	to := make(receiver)
	o := r.notifying(to, "ops")
	o.TokensFile = filepath.Join(t.TempDir(), "tokens")
	tokens := ""
	for _, tenant := range []string{"acme", "other", "third"} {
		tokens += line(tenant, tenant, tenant, access.Start)
	}
	if err := os.WriteFile(o.TokensFile, []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.startWith(o)
	begin := func(tenant string) {
		running{s.Server, client.New("http://"+s.Addr(), client.WithToken(tenant), client.WithRetries(0)), nil}.begin(t)
	}
	held := []attempt{}
	for _, tenant := range []string{"acme", "other"} {
		for range mostOfTenant {
			begin(tenant)
			if held = append(held, <-to); held[len(held)-1].Tenant != tenant {
				t.Fatalf("a notice of %s arrived, want one of %s", held[len(held)-1].Tenant, tenant)
			}
		}
	}
	for range shareOfTenant {
		begin("third")
		var n attempt
		select {
		case n = <-to:
		case <-time.After(20 * time.Second):
			t.Fatalf("no notice arrives while %d are held", len(held))
		}
		if n.Tenant != "third" || n.Kind != notice.Suspended {
			t.Errorf("%s of %s arrived while %d are held", n.Kind, n.Tenant, len(held))
		}
		n.answer <- taken
	}
	for _, n := range held {
		n.answer <- taken
	}
}
