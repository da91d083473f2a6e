package sqsqueue_test

import (
	"errors"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest/queuetest"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
)

const message = `{"idempotency_key":"k","agent":"a","input":"go"}`

// desk is the intake queue of a cloud, with a message in it.
type desk struct {
	*cloud
	clock *enginetest.Clock
	queue *sqsqueue.Intake
}

func newDesk(t *testing.T) desk {
	t.Helper()
	clock := enginetest.AtMilli(1000)
	c := newCloud(t, clock)
	c.put(c.url, message)
	return desk{c, clock, sqsqueue.NewIntake(c.api, c.url, c.dead, "acme")}
}

// one is the only message there is to take.
func (d desk) one() intake.Delivery {
	d.Helper()
	got, err := d.queue.Receive(d.Context(), 10)
	if err != nil || len(got) != 1 {
		d.Fatalf("received %+v, %v", got, err)
	}
	return got[0]
}

func (d desk) settle(m intake.Delivery, f intake.Result) {
	d.Helper()
	if err := d.queue.Settle(d.Context(), m, f); err != nil {
		d.Fatal(err)
	}
}

// none checks that nothing is left, now and ever.
func (d desk) none() {
	d.Helper()
	d.clock.Advance(2 * time.Hour)
	if got, err := d.queue.Receive(d.Context(), 10); err != nil || len(got) != 0 {
		d.Fatalf("received %+v, %v", got, err)
	}
}

func TestAMessageWhoseRunIsThereIsGone(t *testing.T) {
	for _, outcome := range []intake.Outcome{intake.Started, intake.Duplicate} {
		d := newDesk(t)
		m := d.one()
		if m.Tenant != "acme" || string(m.Body) != message || m.Attempts != 1 || m.Returned != 0 {
			t.Errorf("received %+v", m)
		}
		d.settle(m, intake.Result{Outcome: outcome})
		d.none()
	}
}

func TestABusyMessageComesAgainAsNewAsOftenAsItTakes(t *testing.T) {
	d := newDesk(t)
	for n := range 20 {
		m := d.one()
		if m.Returned != n || m.Attempts != 1 || string(m.Body) != message || m.Tenant != "acme" {
			t.Fatalf("after %d returns: %+v", n, m)
		}
		d.settle(m, intake.Result{Outcome: intake.Busy, After: 10 * time.Second})
		d.clock.Advance(9 * time.Second)
		if got, err := d.queue.Receive(t.Context(), 10); err != nil || len(got) != 0 {
			t.Fatalf("received %+v before its time, %v", got, err)
		}
		d.clock.Advance(time.Second)
	}
	d.settle(d.one(), intake.Result{Outcome: intake.Started})
	d.none()
	if dead := d.messages(d.dead); len(dead) != 0 {
		t.Errorf("dead letters %+v", dead)
	}
}

func TestAFailedMessageIsHandedOverOnceMore(t *testing.T) {
	d := newDesk(t)
	d.settle(d.one(), intake.Result{Outcome: intake.Failed, After: 3 * time.Second})
	d.clock.Advance(3 * time.Second)
	m := d.one()
	if m.Attempts != 2 || m.Returned != 0 {
		t.Errorf("received %+v", m)
	}
	d.settle(m, intake.Result{Outcome: intake.Started})
	d.none()
}

func TestADeadLetterHasTheReason(t *testing.T) {
	for _, tt := range []struct{ detail, want string }{
		{"there is no agent a", "there is no agent a"},
		{"", "no reason given"},
		{"\x00\xff\ufffe", "\ufffd\ufffd\ufffd"},
		{strings.Repeat("ü", 600), strings.Repeat("ü", 500) + "..."},
	} {
		d := newDesk(t)
		d.settle(d.one(), intake.Result{Outcome: intake.Dead, Code: refusal.CodeAgentNotFound, Detail: tt.detail})
		dead := d.messages(d.dead)
		if len(dead) != 1 || *dead[0].Body != message {
			t.Fatalf("dead letters %+v", dead)
		}
		code, detail := dead[0].MessageAttributes[sqsqueue.AttributeCode].StringValue, dead[0].MessageAttributes[sqsqueue.AttributeDetail].StringValue
		if code == nil || *code != string(refusal.CodeAgentNotFound) || detail == nil || *detail != tt.want {
			t.Errorf("%q: attributes %+v", tt.detail, dead[0].MessageAttributes)
		}
		d.none()
	}
}

// The copy comes first: whatever is lost between leaves two messages and never none.
func TestAMessageThatCannotBePutElsewhereStays(t *testing.T) {
	for _, outcome := range []intake.Outcome{intake.Busy, intake.Dead} {
		d := newDesk(t)
		m := d.one()
		d.double.Fail(func(c awsdouble.Call) awsdouble.Fault {
			if c.Operation == "SendMessage" {
				return awsdouble.InternalError()
			}
			return awsdouble.Fault{}
		})
		if gone, err := d.queue.Move(t.Context(), m, intake.Result{Outcome: outcome}); gone || !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("moved: %v, %v", gone, err)
		}
		if err := d.queue.Settle(t.Context(), m, intake.Result{Outcome: outcome}); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("settled: %v", err)
		}
		d.double.Fail(nil)
		d.clock.Advance(queuetest.Visibility)
		if again := d.one(); again.ID != m.ID || again.Attempts != 2 {
			t.Errorf("received %+v", again)
		}
	}
}

func TestAReceiptOfNothingIsRefused(t *testing.T) {
	d := newDesk(t)
	for _, outcome := range []intake.Outcome{intake.Failed, intake.Started} {
		if err := d.queue.Settle(t.Context(), intake.Delivery{Receipt: "none"}, intake.Result{Outcome: outcome}); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("outcome %d: %v", outcome, err)
		}
	}
	if got, err := d.queue.Receive(t.Context(), 0); err != nil || len(got) != 0 {
		t.Errorf("received %+v, %v of none asked for", got, err)
	}
}

func TestReturnsThatNobodyOfOursWrote(t *testing.T) {
	for _, text := range []string{"", "-1", "x", "99999999999999999999999"} {
		if n := sqsqueue.ReadReturned(text); n != 0 {
			t.Errorf("%q is %d", text, n)
		}
	}
}
