package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/notify/webhook"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

// outage is a receiver that answers 503 until a moment of the desk's clock, and a deliverer that
// works the line of one thread to it.
type outage struct {
	*desk
	up        time.Time
	key       notice.Key
	verify    []byte
	deliverer *delivery.Deliverer
	owed      []delivery.Notice // as the journal has them, in its order

	attempts []string                 // the ids of all attempts
	accepted map[string]client.Notice // what arrived, by id
	twice    []string                 // ids that arrived again
}

const outageKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newOutage(t *testing.T, down time.Duration) *outage {
	t.Helper()
	o := &outage{desk: newDesk(t), accepted: map[string]client.Notice{}}
	o.up = o.clock.Now().Add(down)
	var err error
	if o.verify, err = signature.Key(signature.Standard, outageKey); err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.HandlerFunc(o.receive))
	t.Cleanup(receiver.Close)
	private, err := netguard.ReadPrivate([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	secrets := func(context.Context, string) (string, error) { return outageKey, nil }
	clock := stopped{o.clock}
	sender := webhook.New(webhook.Options{Secrets: secrets, Guard: netguard.New(netguard.Options{Clock: machine.Clock{}, Private: private}), Clock: clock}, webhook.Standard)
	ends := &notify.Endpoints{Targets: one{target: notice.Target{Name: "ops", URL: receiver.URL, Secret: "HOOK_KEY", AllowPrivate: true}},
		Writer: o.writer, Logger: slog.New(slog.DiscardHandler), URL: map[notice.Format]notify.Sender{notice.FormatStandard: sender}}
	o.deliverer = delivery.New(delivery.Options{Lines: o.store, Journal: o.store, Endpoints: ends, Waker: &frontendtest.Waker{}, Clock: clock, Random: &frontendtest.Random{}})
	return o
}

// receive is the receiver. Each attempt has to be signed at the time of the attempt.
func (o *outage) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		o.Error(err)
	}
	id, err := signature.Verify(signature.Standard, r.Header.Get, body, o.clock.Now(), o.verify)
	var n client.Notice
	if err != nil || json.Unmarshal(body, &n) != nil || n.ID != id {
		o.Errorf("attempt %q, %v: %s", id, err, body)
	}
	o.attempts = append(o.attempts, id)
	if o.clock.Now().Before(o.up) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if _, again := o.accepted[id]; again {
		o.twice = append(o.twice, id)
	}
	o.accepted[id] = n
}

// owe hands the newest event of a type over, as an engine does after its commit.
func (o *outage) owe(run wire.Run, of core.EventType, kind notice.Kind) {
	o.Helper()
	n := o.notice(run, of, kind)
	o.key = n.Key
	o.owed = append(o.owed, n)
	if _, err := o.store.HandOver(o.Context(), engine.HandOver{Key: n.Key, Event: n.Event.Seq, Kind: kind, Seq: n.Seq, Now: o.clock.Now().UnixMilli()}); err != nil {
		o.Fatal(err)
	}
}

// pass lets time go by and delivers whenever the line is due.
func (o *outage) pass(d time.Duration) {
	o.Helper()
	end := o.clock.Now().Add(d)
	for {
		l, err := o.store.Line(o.Context(), o.key)
		if err != nil {
			o.Fatal(err)
		}
		if l.Due == 0 || time.UnixMilli(l.Due).After(end) {
			break
		}
		o.clock.AfterFunc(max(0, time.UnixMilli(l.Due).Sub(o.clock.Now())), func() {})
		if r, err := o.deliverer.Deliver(o.Context(), engine.Wakeup{Tenant: o.key.Tenant, Thread: o.key.Thread, Endpoint: o.key.Endpoint}); err != nil || !r.Claimed {
			o.Fatalf("%+v, %v", r, err)
		}
	}
	o.clock.AfterFunc(max(0, end.Sub(o.clock.Now())), func() {})
}

// A receiver is down for 12 hours while a run asks again and again. It then has each notice once,
// as the journal has its event. First attempts were made in the order of the journal, and attempts
// that were made again had the same id.
func TestAReceiverThatWasDownGetsWhatTheJournalHas(t *testing.T) {
	o := newOutage(t, 12*time.Hour)
	run := o.start()
	for i := range 4 {
		call := fmt.Sprintf("c%d", i)
		o.worker.Suspend(run.ID, frontendtest.Call{ID: call, Tool: "refund", Kind: core.KindApproval, Said: "refund number " + call})
		o.owe(run, core.EventCallSuspended, notice.Suspended)
		if i%2 == 0 { // else the decision waits behind the question
			o.pass(90 * time.Minute)
		}
		if _, err := o.reads.Decide(t.Context(), anna, run.ID, wire.Decision{Target: call, Action: "resume"}); err != nil {
			t.Fatal(err)
		}
		o.worker.Drain(run.ID)
		o.owe(run, core.EventDecisionRecorded, notice.Decided)
		o.pass(90 * time.Minute)
	}
	o.pass(o.up.Sub(o.clock.Now()) - time.Minute)
	if len(o.accepted) != 0 {
		t.Fatalf("%d notices arrived while the receiver was down", len(o.accepted))
	}
	o.worker.Finish(run.ID, "refunded")
	o.owe(run, core.EventRunStatus, notice.Done)
	o.pass(12 * time.Hour)
	o.compare(run)
}

// compare holds what arrived against the events as the API shows them.
func (o *outage) compare(run wire.Run) {
	o.Helper()
	var want, first []string
	for _, n := range o.owed {
		want = append(want, notify.NoticeID(n))
	}
	for _, id := range o.attempts {
		if !slices.Contains(first, id) {
			first = append(first, id)
		}
	}
	if !slices.Equal(first, want) {
		o.Errorf("first attempts %q, want %q", first, want)
	}
	if len(o.attempts) < 3*len(want) || len(o.twice) > 0 || len(o.accepted) != len(want) {
		o.Errorf("%d attempts, %d of %d notices arrived, twice: %q", len(o.attempts), len(o.accepted), len(want), o.twice)
	}
	page, err := o.reads.Events(o.Context(), anna, run.ID, query.EventQuery{})
	if err != nil {
		o.Fatal(err)
	}
	for i, n := range o.owed {
		got := o.accepted[want[i]]
		at := slices.IndexFunc(page.Items, func(e wire.Event) bool { return e.Seq == n.Event.Seq })
		if at < 0 || got.Type != string(n.Kind) || got.Tenant != n.Tenant || !reflect.DeepEqual(got.Event, page.Items[at]) {
			o.Errorf("%s arrived as %s %s, the journal has %s %s", want[i], got.Type, core.Encode(got.Event), n.Kind, core.Encode(page.Items))
		}
	}
	if l, err := o.store.Line(o.Context(), o.key); err != nil || l.Due != 0 || len(l.Entries) != 0 {
		o.Errorf("the line is left as %+v, %v", l, err)
	}
}
