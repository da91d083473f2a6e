// Package webhookstest is the contract of stores of webhooks, as one suite for all of them.
package webhookstest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

// Test checks a store. Open returns an empty one, closed by the test's cleanup.
func Test(t *testing.T, open func(t *testing.T) webhooks.Store) {
	for name, run := range map[string]func(*storeTest){
		"a webhook is read as it was stored":                testPutWebhook,
		"of two changes of the same revision one is made":   testRivalChanges,
		"a webhook is deleted, and is then as it never was": testDeleteWebhook,
		"tenants are apart":                                 testTenantsApart,
		"an endpoint is disabled once, until it is enabled": testDisable,
		"disabled endpoints are listed by id":               testDisabledEndpoints,
	} {
		t.Run(name, func(t *testing.T) { run(&storeTest{t, open(t)}) })
	}
}

type storeTest struct {
	*testing.T
	webhooks.Store
}

func (t *storeTest) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *storeTest) wantErr(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func (t *storeTest) want(what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (t *storeTest) webhooks(tenant string) []notice.Webhook {
	t.Helper()
	all, err := t.Webhooks(t.Context(), tenant)
	t.ok(err)
	return all
}

func hook(tenant, id string) notice.Webhook {
	return notice.Webhook{Tenant: tenant, ID: id, Rev: 1, Agents: []string{"refunds"}, Created: 1000, CreatedBy: "token:anna",
		Target: notice.Target{Name: "pager", On: notice.Set{notice.Suspended}, URL: "https://a.example/", Format: notice.FormatTemplate,
			Template: []byte(`{"text":"{run}"}`), Secret: "PAGER_KEY", AllowPrivate: true}}
}

func testPutWebhook(t *storeTest) {
	b, a := hook("acme", "wh_b#/%"), hook("acme", "wh_a")
	_, err := t.Webhook(t.Context(), "acme", b.ID)
	t.wantErr(err, engine.ErrNotFound)
	t.ok(t.PutWebhook(t.Context(), b))
	t.ok(t.PutWebhook(t.Context(), b)) // again: its answer was lost
	t.ok(t.PutWebhook(t.Context(), a))
	got, err := t.Webhook(t.Context(), "acme", b.ID)
	t.ok(err)
	t.want("webhook", got, b)
	t.want("webhooks", t.webhooks("acme"), []notice.Webhook{a, b})
	next := b
	next.Rev, next.URL, next.Changed, next.ChangedBy = 2, "https://b.example/", 2000, "token:ben"
	t.ok(t.PutWebhook(t.Context(), next))
	t.ok(t.PutWebhook(t.Context(), next))
	t.wantErr(t.PutWebhook(t.Context(), b), engine.ErrRefused) // a late copy
	t.want("webhooks", t.webhooks("acme"), []notice.Webhook{a, next})
}

func testRivalChanges(t *storeTest) {
	t.wantErr(t.PutWebhook(t.Context(), func() notice.Webhook { w := hook("acme", "wh_a"); w.Rev = 2; return w }()), engine.ErrRefused)
	t.ok(t.PutWebhook(t.Context(), hook("acme", "wh_a")))
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			w := hook("acme", "wh_a")
			w.Rev, w.Name = 2, fmt.Sprint("name-", i)
			errs[i] = t.PutWebhook(t.Context(), w)
		})
	}
	all.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won >= 0:
			t.Fatalf("both %d and %d were stored", won, i)
		case err == nil:
			won = i
		default:
			t.wantErr(err, engine.ErrRefused)
		}
	}
	w, err := t.Webhook(t.Context(), "acme", "wh_a")
	t.ok(err)
	t.want("name", w.Name, fmt.Sprint("name-", won))
}

func testDeleteWebhook(t *storeTest) {
	t.ok(t.PutWebhook(t.Context(), hook("acme", "wh_a")))
	_, err := t.DisableEndpoint(t.Context(), notice.Disabled{Tenant: "acme", Endpoint: "wh_a", At: 1000, Reason: "410 Gone"})
	t.ok(err)
	t.ok(t.DeleteWebhook(t.Context(), "acme", "wh_a"))
	t.ok(t.DeleteWebhook(t.Context(), "acme", "wh_a"))
	_, err = t.Webhook(t.Context(), "acme", "wh_a")
	t.wantErr(err, engine.ErrNotFound)
	t.want("webhooks", t.webhooks("acme"), []notice.Webhook(nil))
	t.want("disabled", t.disabled("acme", "wh_a"), map[string]notice.Disabled{})
	t.wantErr(t.PutWebhook(t.Context(), func() notice.Webhook { w := hook("acme", "wh_a"); w.Rev = 2; return w }()), engine.ErrRefused)
}

func testTenantsApart(t *storeTest) {
	t.ok(t.PutWebhook(t.Context(), hook("acme", "wh_a")))
	_, err := t.DisableEndpoint(t.Context(), notice.Disabled{Tenant: "acme", Endpoint: "wh_a", At: 1000, Reason: "410 Gone"})
	t.ok(err)
	for _, other := range []string{"acme2", "acm", ""} {
		_, err := t.Webhook(t.Context(), other, "wh_a")
		t.wantErr(err, engine.ErrNotFound)
		t.want("webhooks", t.webhooks(other), []notice.Webhook(nil))
		t.want("disabled", t.disabled(other, "wh_a"), map[string]notice.Disabled{})
		t.ok(t.DeleteWebhook(t.Context(), other, "wh_a"))
		t.ok(t.EnableEndpoint(t.Context(), other, "wh_a"))
		all, err := t.DisabledEndpoints(t.Context(), other, "", 10)
		t.ok(err)
		t.want("disabled endpoints", all, []notice.Disabled(nil))
	}
	t.want("webhooks", t.webhooks("acme"), []notice.Webhook{hook("acme", "wh_a")})
	t.want("disabled", len(t.disabled("acme", "wh_a")), 1)
}

func (t *storeTest) disabled(tenant string, endpoints ...string) map[string]notice.Disabled {
	t.Helper()
	found, err := t.Disabled(t.Context(), tenant, endpoints)
	t.ok(err)
	return found
}

func testDisable(t *storeTest) {
	first := notice.Disabled{Tenant: "acme", Endpoint: "agent/refunds/pager", At: 1000, Reason: "410 Gone"}
	got, err := t.DisableEndpoint(t.Context(), first)
	t.ok(err)
	t.want("disabled", got, first)
	got, err = t.DisableEndpoint(t.Context(), notice.Disabled{Tenant: "acme", Endpoint: first.Endpoint, At: 2000, Reason: "too noisy", By: "token:anna"})
	t.ok(err)
	t.want("disabled before", got, first)
	t.want("disabled", t.disabled("acme", "wh_a", first.Endpoint, "wh_b"), map[string]notice.Disabled{first.Endpoint: first})
	t.want("none asked for", t.disabled("acme"), map[string]notice.Disabled{})
	t.ok(t.EnableEndpoint(t.Context(), "acme", first.Endpoint))
	t.ok(t.EnableEndpoint(t.Context(), "acme", first.Endpoint))
	t.want("enabled", t.disabled("acme", first.Endpoint), map[string]notice.Disabled{})
}

func testDisabledEndpoints(t *storeTest) {
	var want []notice.Disabled
	for i, endpoint := range []string{"agent/a/ops", "run/run_a/ops", "wh_a", "wh_b"} {
		d := notice.Disabled{Tenant: "acme", Endpoint: endpoint, At: 1<<40 + int64(i), Reason: "410 Gone"}
		_, err := t.DisableEndpoint(t.Context(), d)
		t.ok(err)
		want = append(want, d)
	}
	t.ok(t.PutWebhook(t.Context(), hook("acme", "wh_c"))) // is none
	for _, limit := range []int{1, 3, 10} {
		var got []notice.Disabled
		for after := ""; ; {
			page, err := t.DisabledEndpoints(t.Context(), "acme", after, limit)
			t.ok(err)
			if len(page) == 0 {
				break
			}
			if len(page) > limit {
				t.Fatalf("%d entries where %d were asked for", len(page), limit)
			}
			got, after = append(got, page...), page[len(page)-1].Endpoint
		}
		t.want("disabled endpoints", got, want)
	}
}
