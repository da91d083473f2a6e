package asks_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/asks"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

func TestTheHeadOfAnAskHasItsTermsAndItsCallback(t *testing.T) {
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	db, _ := sqlitetest.Open(t, clock, random)
	front := frontend.New(frontend.Options{Store: db, Catalog: frontendtest.NewCatalog(), Waker: db, Clock: clock, Random: random})
	c := frontend.Caller{Tenant: "acme", By: "token:ci", Via: "api"}
	req := wire.AskRequest{Title: "Deploy?", Approvers: []string{"token:anna"}, NotBy: "starter", Deadline: "7d",
		Callback: &wire.AskCallback{URL: "https://ci.example.com/", Secret: "CALLBACK_CI"}}
	a, _, err := asks.New(front).Ask(t.Context(), c, "", req)
	if err != nil {
		t.Fatal(err)
	}
	thread, _ := core.ThreadOf(a.ID)
	h, err := db.Load(t.Context(), "acme", thread)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := ask.ReadTerms(h.Narrow)
	if want := (ask.Terms{Approvers: []string{"token:anna"}, NotBy: "starter", Within: 7 * 24 * 3600 * 1000}); err != nil || !cmp.Equal(terms, want) {
		t.Errorf("terms %+v, %v", terms, err)
	}
	body, err := db.Payload(t.Context(), "acme", thread, h.Notify)
	var targets []notice.Target
	if err != nil || json.Unmarshal(body, &targets) != nil {
		t.Fatalf("%s, %v", body, err)
	}
	want := []notice.Target{{Name: "callback", On: notice.Set{notice.Decided, notice.Done}, URL: "https://ci.example.com/", Secret: "CALLBACK_CI"}}
	if diff := cmp.Diff(want, targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	req.Callback.Secret = "PAGER"
	if _, _, err := asks.New(front).Ask(t.Context(), c, "", req); err == nil || !strings.Contains(err.Error(), "callback.secret") {
		t.Errorf("a secret of another receiver: %v", err)
	}
}

func TestAnAskTakesNoKeyOfAWebhook(t *testing.T) {
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	db, _ := sqlitetest.Open(t, clock, random)
	front := frontend.New(frontend.Options{Store: db, Catalog: frontendtest.NewCatalog(), Waker: db, Clock: clock, Random: random})
	_, _, err := asks.New(front).Ask(t.Context(), frontend.Caller{Tenant: "acme", By: "token:ci", Via: "api"}, "hook:pagerduty:e1", wire.AskRequest{Title: "Deploy?"})
	if refused, ok := errors.AsType[*refusal.Error](err); !ok || refused.Code != refusal.CodeInvalid || !strings.Contains(refused.Detail, "reserved for webhooks") {
		t.Errorf("%v", err)
	}
}

// counted is a store that counts what is read of threads. The read of a head with the number hold
// waits for release.
type counted struct {
	frontend.Store
	heads, pieces atomic.Int64
	hold          int64
	release       chan struct{}
}

func (c *counted) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	if c.heads.Add(1) == c.hold {
		<-c.release
	}
	return c.Store.Load(ctx, tenant, thread)
}

func (c *counted) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	c.pieces.Add(1)
	return c.Store.Segments(ctx, tenant, thread, from, to)
}

// stopped is a clock on which no pause is ever over.
type stopped struct{ time.Time }

func (s stopped) Now() time.Time                              { return s.Time }
func (stopped) AfterFunc(time.Duration, func()) (stop func()) { return func() {} }

// An ask can wait for days with readers that look at it every second.
func TestAHeldReadOfAnAskReadsItsJournalOnce(t *testing.T) {
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	db, _ := sqlitetest.Open(t, clock, random)
	store, changed := &counted{Store: db, release: make(chan struct{})}, make(chan struct{})
	front := frontend.New(frontend.Options{Store: store, Catalog: frontendtest.NewCatalog(), Waker: db, Clock: stopped{clock.Now()}, Random: random,
		Watch: func(string, string) (<-chan struct{}, func()) { return changed, func() {} }})
	desk, c := asks.New(front), frontend.Caller{Tenant: "acme", By: "token:ci", Via: "api", Roles: []access.Role{access.Read}}
	a, _, err := desk.Ask(t.Context(), c, "", wire.AskRequest{Title: "Deploy?"})
	if err != nil {
		t.Fatal(err)
	}
	worker := frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: random, Tenant: "acme"}
	worker.Suspend(a.ID, frontendtest.Call{ID: ask.Call, Tool: ask.Tool, Kind: core.KindApproval})
	heads, pieces := store.heads.Load(), store.pieces.Load()
	waits, err := desk.Read(t.Context(), c, a.ID, 0)
	if err != nil || waits.Status != wire.AskWaiting || waits.Suspension == "" || store.heads.Load()-heads != 1 {
		t.Fatalf("%+v after %d heads, %v", waits, store.heads.Load()-heads, err)
	}
	once := store.pieces.Load() - pieces
	heads, pieces = store.heads.Load(), store.pieces.Load()
	store.hold = heads + 6
	read := make(chan wire.Ask, 1)
	go func() {
		got, err := desk.Read(t.Context(), c, a.ID, time.Minute)
		if err != nil {
			t.Error(err)
		}
		read <- got
	}()
	for range 5 { // each is heard when the look before is over
		changed <- struct{}{}
	}
	plain := frontend.New(frontend.Options{Store: db, Catalog: frontendtest.NewCatalog(), Waker: db, Clock: clock, Random: random})
	if _, err := plain.Decide(t.Context(), c, a.ID, wire.Decision{Target: waits.Suspension, Action: "cancel"}); err != nil {
		t.Fatal(err)
	}
	worker.Drain(a.ID)
	worker.Finish(a.ID, "over")
	close(store.release)
	got := <-read
	if h, p := store.heads.Load()-heads, store.pieces.Load()-pieces; got.Status == wire.AskWaiting || h != 6 || p > 2*once+2 {
		t.Errorf("%s after %d heads and %d pieces of the journal; one look took %d", got.Status, h, p, once)
	}
}
