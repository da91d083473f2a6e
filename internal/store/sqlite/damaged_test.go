package sqlite_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

// A webhook that can't be read hides no other. It is listed as itself, its key isn't used again,
// and it can be removed.
func TestADamagedWebhookHidesNoOther(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	path := filepath.Join(t.TempDir(), "damaged.db")
	db := open(t, path, options(t, clock))
	desk := webhooks.New(webhooks.Options{Store: db, Deliveries: db, Waker: &frontendtest.Waker{}, Clock: clock, Random: &frontendtest.Random{}})
	caller, ids := frontend.Caller{Tenant: tenant}, []string{}
	add := func(key string) (wire.Webhook, error) {
		w, _, err := desk.Add(t.Context(), caller, key, wire.WebhookRequest{Name: key, On: []string{"done"}, URL: "https://a.example.com/", Secret: "WEBHOOK_ACME__KEY"})
		return w, err
	}
	for _, key := range []string{"a", "b", "c"} {
		w, err := add(key)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.ID)
	}
	bad := ids[1]
	if _, err := rawFile(t, path).Exec("UPDATE webhooks SET body = '{' WHERE id = ?", bad); err != nil {
		t.Fatal(err)
	}
	all, err := db.Webhooks(t.Context(), tenant)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, w := range all {
		if w.Damaged != (w.ID == bad) || w.Damaged == (w.URL != "") || w.Tenant != tenant || w.Rev != 1 || !slices.Contains(ids, w.ID) {
			t.Errorf("%+v", w)
		}
	}
	page, err := desk.List(t.Context(), caller)
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, w := range page.Items {
		if (len(w.Warnings) == 1) != (w.ID == bad) {
			t.Errorf("%+v", w)
		}
	}
	if _, err := add("b"); !errors.Is(err, engine.ErrUnreadable) {
		t.Errorf("its key: %v", err)
	}
	if err := desk.Remove(t.Context(), caller, bad); err != nil {
		t.Error(err)
	}
	if page, err := desk.List(t.Context(), caller); err != nil || len(page.Items) != 2 {
		t.Errorf("%+v, %v", page, err)
	}
	if w, err := add("b"); err != nil || w.ID != bad {
		t.Errorf("its key afterwards: %+v, %v", w, err)
	}
	if err := desk.Remove(t.Context(), caller, "wh_none"); !isRefused(err, refusal.CodeWebhookNotFound) {
		t.Errorf("%v", err)
	}
}

func isRefused(err error, code refusal.Code) bool {
	e, ok := errors.AsType[*refusal.Error](err)
	return ok && e.Code == code
}

// The mark of a disabled endpoint that can't be read still disables it, and hides no other.
func TestADamagedMarkHidesNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "damaged.db")
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	endpoints := []string{"wh_a", "wh_b", "wh_c"}
	for _, endpoint := range endpoints {
		if _, err := db.DisableEndpoint(t.Context(), notice.Disabled{Tenant: tenant, Endpoint: endpoint, At: 1000, Reason: "410 Gone"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rawFile(t, path).Exec("UPDATE disabled_endpoints SET body = '{' WHERE endpoint = 'wh_b'"); err != nil {
		t.Fatal(err)
	}
	found, err := db.Disabled(t.Context(), tenant, endpoints)
	if err != nil || len(found) != 3 || found["wh_b"] != notice.DamagedMark(tenant, "wh_b") || found["wh_c"].Reason != "410 Gone" {
		t.Errorf("%+v, %v", found, err)
	}
	listed, err := db.DisabledEndpoints(t.Context(), tenant, "wh_a", 10)
	if err != nil || len(listed) != 2 || listed[0] != notice.DamagedMark(tenant, "wh_b") || listed[1].Reason != "410 Gone" {
		t.Errorf("%+v, %v", listed, err)
	}
}
