package asks_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
