package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

const (
	webhooksPath = "/v1/webhooks"
	pager        = `{"name":"pager","on":["suspended"],"url":"https://pager.example.com/","secret":"WEBHOOK_PAGER"}`
)

// answersTest is an endpoint that accepts test notices.
func answersTest(_ context.Context, w notice.Webhook) (notice.Attempt, error) {
	if strings.Contains(w.URL, "down") {
		return notice.Attempt{At: 1_772_355_600_000, Took: 12, Status: 503, Error: "503 Service Unavailable"}, nil
	}
	return notice.Attempt{At: 1_772_355_600_000, Took: 12, Status: 204}, nil
}

func (s *server) addWebhook(body string) wire.Webhook {
	s.t.Helper()
	got := s.send("POST", webhooksPath, body, bearer(s.token))
	if got.StatusCode != 201 {
		s.t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	return decoded[wire.Webhook](s.t, got.text)
}

// dead gives a notice up.
func (s *server) dead(thread, endpoint string, event int64) {
	s.t.Helper()
	s.end(access.Tenant, thread, endpoint, event, notice.StateDead)
}

func (s *server) end(tenant, thread, endpoint string, event int64, state notice.State) {
	s.t.Helper()
	ctx, k := s.t.Context(), notice.Key{Tenant: tenant, Thread: thread, Endpoint: endpoint}
	now := int64(1_772_355_600_000) + event*1000
	_, err := s.lines.HandOver(ctx, engine.HandOver{Key: k, Event: event, Kind: notice.Suspended, Seq: event, Now: now})
	if err != nil {
		s.t.Fatal(err)
	}
	if state == notice.StateWaiting {
		return
	}
	l, err := s.lines.ClaimLine(ctx, engine.LineClaim{Key: k, Claim: fmt.Sprint("claim ", event), Now: now, LeaseEnd: now + 1000, Due: now + 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	e, _ := l.Entries[event].After(notice.Hopeless, notice.Attempt{At: now, Took: 5, Status: 404, Error: "404 Not Found"}, 0)
	r := e.Record(k, event, state, now+5)
	if _, err := s.lines.WriteLine(ctx, engine.LineWrite{Key: k, Epoch: l.Epoch, Event: event, Record: &r, Release: true, Adds: l.Adds}); err != nil {
		s.t.Fatal(err)
	}
}

// delivery is the id of one, as the list shows it.
func (s *server) delivery(thread, endpoint string, event int64) string {
	s.t.Helper()
	for d, err := range s.client.Deliveries(s.t.Context(), client.DeliveryFilter{Thread: thread, Endpoint: endpoint}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if d.Event == event {
			return d.ID
		}
	}
	s.t.Fatalf("no delivery of event %d of %s to %s", event, thread, endpoint)
	return ""
}

func TestAWebhookIsAddedOnceForEachKey(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	key := header("Idempotency-Key", "k1")
	first := s.send("POST", webhooksPath, pager, bearer("secret"), key)
	made := decoded[wire.Webhook](t, first.text)
	if first.StatusCode != 201 || !strings.HasPrefix(made.ID, "wh_") || made.Revision != 1 || made.CreatedBy != "token:test" || made.Format != "standard" ||
		first.Header.Get("Location") != webhooksPath+"/"+made.ID {
		t.Fatalf("%d %s", first.StatusCode, first.text)
	}
	again := s.send("POST", webhooksPath, pager, bearer("secret"), key)
	if again.StatusCode != 200 || again.text != first.text {
		t.Errorf("%d %s", again.StatusCode, again.text)
	}
	other := s.send("POST", webhooksPath, strings.Replace(pager, "suspended", "done", 1), bearer("secret"), key)
	if other.StatusCode != 422 || other.problem(t).Code != "idempotency_mismatch" {
		t.Errorf("%d %s", other.StatusCode, other.text)
	}
	if got := s.send("POST", webhooksPath, pager, bearer("secret"), header("Idempotency-Key", strings.Repeat("k", 256))); got.problem(t).Code != "invalid_request" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("POST", webhooksPath, strings.Replace(pager, "{", `{"agents":[],`, 1), bearer("secret")); got.problem(t).Code != "invalid_request" {
		t.Errorf("an empty list of agents: %d %s", got.StatusCode, got.text)
	}
	if a, b := s.addWebhook(pager), s.addWebhook(pager); a.ID == b.ID || a.ID == made.ID {
		t.Errorf("without a key: %s, %s", a.ID, b.ID)
	}
}

func TestATenantHasAtMostFiftyWebhooks(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	for range webhooks.Most {
		s.addWebhook(pager)
	}
	if got := s.send("POST", webhooksPath, pager, bearer("secret")); got.StatusCode != 409 || got.problem(t).Code != "too_many_webhooks" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestChangesOfDifferentMembersAreAllMade(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	made := s.addWebhook(pager)
	path := webhooksPath + "/" + made.ID
	changes := []string{`{"name":"night"}`, `{"on":["done","failed"]}`, `{"agents":["desk"]}`, `{"url":"https://b.example/"}`}
	var all sync.WaitGroup
	for _, change := range changes {
		all.Go(func() {
			if got := s.send("PATCH", path, change, bearer("secret")); got.StatusCode != 200 {
				t.Errorf("%s: %d %s", change, got.StatusCode, got.text)
			}
		})
	}
	all.Wait()
	got := decoded[wire.Webhook](t, s.send("GET", path, "", bearer("secret")).text)
	if got.Name != "night" || len(got.On) != 2 || len(got.Agents) != 1 || got.URL != "https://b.example/" || got.Revision != 5 || got.ChangedBy != "token:test" || got.Secret != "WEBHOOK_PAGER" {
		t.Errorf("%+v", got)
	}
	for body, want := range map[string]string{
		`{"name":"x","revision":4}`:   "409 webhook_changed",
		`{"url":"http://b.example/"}`: "400 invalid_request",
		`{"secret":""}`:               "400 invalid_request",
		`{"url":""}`:                  "400 invalid_request",
		`{"id":"wh_b"}`:               "400 unknown_field",
	} {
		if got := s.send("PATCH", path, body, bearer("secret")); fmt.Sprint(got.StatusCode, " ", got.problem(t).Code) != want {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.text)
		}
	}
	slack := decoded[wire.Webhook](t, s.send("PATCH", path, `{"format":"template","template":{"text":"{run}"},"secret":"","agents":[],"revision":5}`, bearer("secret")).text)
	if slack.Secret != "" || slack.Agents != nil || string(slack.Template) != `{"text":"{run}"}` {
		t.Errorf("%+v", slack)
	}
	if plain := decoded[wire.Webhook](t, s.send("PATCH", path, `{"format":"slack"}`, bearer("secret")).text); plain.Template != nil || plain.Format != "slack" {
		t.Errorf("%+v", plain)
	}
}

func TestARemovedWebhookIsGone(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	path := webhooksPath + "/" + s.addWebhook(pager).ID
	if got := s.send("DELETE", path, "", bearer("secret")); got.StatusCode != 204 || got.text != "" {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	for _, r := range []struct{ method, path, body string }{
		{"GET", path, ""}, {"DELETE", path, ""}, {"PATCH", path, `{"name":"x"}`}, {"POST", path + "/test", ""},
		{"POST", webhooksPath + "/disable", `{"endpoint":"` + strings.TrimPrefix(path, webhooksPath+"/") + `"}`}, {"POST", webhooksPath + "/enable", `{"endpoint":"wh_made_up"}`},
		{"GET", webhooksPath + "/wh_" + strings.Repeat("a", 300), ""},
	} {
		if got := s.send(r.method, r.path, r.body, bearer("secret")); got.StatusCode != 404 || got.problem(t).Code != "webhook_not_found" {
			t.Errorf("%s %s: %d %s", r.method, r.path, got.StatusCode, got.text)
		}
	}
	if page := decoded[wire.Page[wire.Webhook]](t, s.send("GET", webhooksPath, "", bearer("secret")).text); len(page.Items) != 0 {
		t.Errorf("%+v", page)
	}
}

// Who removes a webhook takes away what was sent to it, and no more.
func TestTheLinksOfARemovedWebhookAreRevoked(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: withLinks})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	removed, kept := s.addWebhook(pager).ID, s.addWebhook(pager).ID
	path := map[string]string{}
	for i, endpoint := range []string{removed, kept, "agent/desk/pager"} {
		now := s.worker.Clock.Now()
		l := engine.Link{Tenant: "default", Run: run.ID, ID: fmt.Sprintf("lnk_%d", i), Suspension: sus, Call: "c1", For: "webhook", Endpoint: endpoint, Made: now.UnixMilli(), Expires: now.Add(time.Hour).UnixMilli()}
		if err := s.links.PutLink(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		path[endpoint] = "/v1/approvals/" + access.LinkKeys{linkKey}.Sign(access.Link{Tenant: l.Tenant, Run: l.Run, ID: l.ID, Suspension: sus, Expires: now.Add(time.Hour)})
		if got := s.send("GET", path[endpoint], ""); got.StatusCode != 200 {
			t.Fatalf("%s: %d %s", endpoint, got.StatusCode, got.text)
		}
	}
	if got := s.send("DELETE", webhooksPath+"/"+removed, "", bearer("secret")); got.StatusCode != 204 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	for _, method := range []string{"GET", "POST"} {
		if got := s.send(method, path[removed], map[string]string{"POST": `{"action":"resume"}`}[method]); got.StatusCode != 410 || got.problem(t).Code != "link_revoked" {
			t.Errorf("%s: %d %s", method, got.StatusCode, got.text)
		}
	}
	for _, endpoint := range []string{kept, "agent/desk/pager"} {
		if got := s.send("GET", path[endpoint], ""); got.StatusCode != 200 {
			t.Errorf("%s: %d %s", endpoint, got.StatusCode, got.text)
		}
	}
}

func TestAnEndpointIsDisabledAndEnabled(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	made := s.addWebhook(pager)
	for _, endpoint := range []string{made.ID, "agent/desk/pager", "run/run_a_0/ci"} {
		first := decoded[wire.DisabledEndpoint](t, s.send("POST", webhooksPath+"/disable", `{"endpoint":"`+endpoint+`","reason":"moving"}`, bearer("secret")).text)
		again := decoded[wire.DisabledEndpoint](t, s.send("POST", webhooksPath+"/disable", `{"endpoint":"`+endpoint+`","reason":"other"}`, bearer("secret")).text)
		if first != again || first.Reason != "moving" || first.By != "token:test" {
			t.Errorf("%+v, %+v", first, again)
		}
	}
	if got := decoded[wire.Webhook](t, s.send("PATCH", webhooksPath+"/"+made.ID, `{"name":"x"}`, bearer("secret")).text); got.Disabled == nil || got.Disabled.Reason != "moving" {
		t.Errorf("a change enabled it: %+v", got)
	}
	var seen []string
	for cursor := ""; ; {
		page := decoded[wire.Page[wire.DisabledEndpoint]](t, s.send("GET", webhooksPath+"/disabled?limit=2&cursor="+cursor, "", bearer("secret")).text)
		for _, d := range page.Items {
			seen = append(seen, d.Endpoint)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if fmt.Sprint(seen) != fmt.Sprint([]string{"agent/desk/pager", "run/run_a_0/ci", made.ID}) {
		t.Errorf("%q", seen)
	}
	for range 2 {
		if got := s.send("POST", webhooksPath+"/enable", `{"endpoint":"`+made.ID+`"}`, bearer("secret")); got.StatusCode != 204 {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	if got := decoded[wire.Webhook](t, s.send("GET", webhooksPath+"/"+made.ID, "", bearer("secret")).text); got.Disabled != nil {
		t.Errorf("%+v", got)
	}
	for _, r := range [][2]string{{"/disable", `{"endpoint":"pager"}`}, {"/disable", `{"endpoint":"sink/sns"}`}, {"/enable", `{"endpoint":"sink/sns"}`}, {"/enable", `{"endpoint":"agent//x"}`}, {"/enable", `{"endpoint":"agent/a/b","reason":"x"}`},
		{"/disable", `{"endpoint":"agent/a/b","reason":"` + strings.Repeat("x", 501) + `"}`}, {"/disable", `{"endpoint":"agent/a/b","reason":"\u202e"}`}} {
		if got := s.send("POST", webhooksPath+r[0], r[1], bearer("secret")); got.StatusCode != 400 || got.problem(t).Code != "invalid_request" {
			t.Errorf("%s: %d %s", r, got.StatusCode, got.text)
		}
	}
	if got := s.send("GET", webhooksPath+"/disabled?cursor=!", "", bearer("secret")); got.problem(t).Code != "bad_cursor" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestATestSaysWhatTheEndpointAnswered(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	up, down := s.addWebhook(pager), s.addWebhook(strings.Replace(pager, "pager.example", "down.example", 1))
	for id, want := range map[string]wire.WebhookTest{
		up.ID:   {Delivered: true, DeliveryAttempt: wire.DeliveryAttempt{DurationMS: 12, Status: 204}},
		down.ID: {DeliveryAttempt: wire.DeliveryAttempt{DurationMS: 12, Status: 503, Error: "503 Service Unavailable"}},
	} {
		got := decoded[wire.WebhookTest](t, s.send("POST", webhooksPath+"/"+id+"/test", "", bearer("secret")).text)
		want.At = got.At
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	none := newServer(t, settings{token: "secret", desk: func(o *webhooks.Options) { o.Test = nil }})
	if got := none.send("POST", webhooksPath+"/"+none.addWebhook(pager).ID+"/test", "", bearer("secret")); got.StatusCode != 501 || got.problem(t).Code != "webhook_test_unavailable" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestDeliveriesAreListedRedrivenAndForgotten(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	s.client = s.client.With(client.WithToken("secret"))
	s.end(access.Tenant, "thr_a", "wh_a", 1, notice.StateDelivered)
	s.dead("thr_a", "wh_a", 2)
	s.dead("thr_b", "wh_a", 3)
	s.end(access.Tenant, "thr_a", "wh_b", 4, notice.StateWaiting)
	list := func(query string) (found string) {
		page := decoded[wire.Page[wire.Delivery]](t, s.send("GET", webhooksPath+"/deliveries"+query, "", bearer("secret")).text)
		for _, d := range page.Items {
			found += fmt.Sprintf("%s %d %s, ", d.Endpoint, d.Event, d.State)
		}
		return found
	}
	for query, want := range map[string]string{
		"":                               "wh_a 3 dead, wh_a 2 dead, wh_a 1 delivered, ",
		"?dead=true":                     "wh_a 3 dead, wh_a 2 dead, ",
		"?thread_id=thr_a&dead=false":    "wh_b 4 waiting, wh_a 2 dead, wh_a 1 delivered, ",
		"?thread_id=thr_a&endpoint=wh_a": "wh_a 2 dead, wh_a 1 delivered, ",
		"?endpoint=wh_b":                 "",
		"?limit=1":                       "wh_a 3 dead, ",
	} {
		if got := list(query); got != want {
			t.Errorf("%q: %s", query, got)
		}
	}
	one := webhooksPath + "/deliveries/" + s.delivery("thr_a", "wh_a", 2)
	for range 2 { // a repeat has no other effect
		got := s.send("POST", one+"/redrive", "", bearer("secret"))
		if d := decoded[wire.Delivery](t, got.text); got.StatusCode != 200 || d.State != "waiting" || d.Attempts != 1 || len(d.Log) != 1 || d.Log[0].Status != 404 {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	if got := list("?thread_id=thr_a&endpoint=wh_a"); got != "wh_a 2 waiting, wh_a 1 delivered, " {
		t.Error(got)
	}
	delivered := webhooksPath + "/deliveries/" + s.delivery("thr_a", "wh_a", 1)
	other := webhooksPath + "/deliveries/" + s.delivery("thr_b", "wh_a", 3)
	for _, r := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"POST", delivered + "/redrive", 409, "delivery_not_dead"},
		{"DELETE", delivered, 409, "delivery_not_dead"},
		{"DELETE", one, 409, "delivery_not_dead"}, // waits
		{"GET", other, 200, ""},
		{"DELETE", other, 204, ""},
		{"DELETE", other, 404, "delivery_not_found"},
		{"GET", other, 404, "delivery_not_found"},
		{"POST", other + "/redrive", 404, "delivery_not_found"},
		{"GET", webhooksPath + "/deliveries/dlv_made_up", 404, "delivery_not_found"},
		{"GET", webhooksPath + "/deliveries?cursor=x", 400, "bad_cursor"},
		{"GET", webhooksPath + "/deliveries?dead=yes", 400, "invalid_request"},
	} {
		got := s.send(r.method, r.path, "", bearer("secret"))
		if got.StatusCode != r.status || r.code != "" && got.problem(t).Code != r.code {
			t.Errorf("%s %s: %d %s", r.method, r.path, got.StatusCode, got.text)
		}
	}
}

func TestNothingIsRedrivenToADisabledEndpoint(t *testing.T) {
	const pager = "agent/desk/pager"
	s := newServer(t, settings{token: "secret"})
	s.client = s.client.With(client.WithToken("secret"))
	s.dead("thr_a", pager, 1)
	s.send("POST", webhooksPath+"/disable", `{"endpoint":"`+pager+`"}`, bearer("secret"))
	one := webhooksPath + "/deliveries/" + s.delivery("thr_a", pager, 1)
	redrive := func() map[string]answer {
		return map[string]answer{"all": s.send("POST", webhooksPath+"/deliveries/redrive", `{"endpoint":"`+pager+`"}`, bearer("secret")),
			"one": s.send("POST", one+"/redrive", "", bearer("secret"))}
	}
	for name, got := range redrive() {
		if got.StatusCode != 409 || got.problem(t).Code != "endpoint_disabled" || !strings.Contains(got.text, "enable it first: webhooks enable "+pager) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
	if got := s.send("GET", one, "", bearer("secret")); !strings.Contains(got.text, `"state":"dead"`) {
		t.Error(got.text)
	}
	s.send("POST", webhooksPath+"/enable", `{"endpoint":"`+pager+`"}`, bearer("secret"))
	for name, got := range redrive() {
		if got.StatusCode != 200 {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
}

func TestAllDeadDeliveriesOfAnEndpointAreRedriven(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	s.client = s.client.With(client.WithToken("secret"))
	for event := range int64(120) {
		s.dead("thr_a", "wh_a", event+1)
	}
	others := []string{"agent/desk/pager", "run/run_a_0/ci", "sink/sns"}
	for _, endpoint := range append(others, "wh_b") {
		s.dead("thr_a", endpoint, 1)
	}
	for _, want := range []int{120, 0} {
		if got, err := s.client.RedriveEndpoint(t.Context(), "wh_a"); err != nil || got != want {
			t.Errorf("%d redriven, %v; want %d", got, err, want)
		}
	}
	for _, endpoint := range others {
		if got, err := s.client.RedriveEndpoint(t.Context(), endpoint); err != nil || got != 1 {
			t.Errorf("%d redriven to %s, %v", got, endpoint, err)
		}
	}
	left, err := client.Collect(s.client.Deliveries(t.Context(), client.DeliveryFilter{Dead: true}))
	if err != nil || len(left) != 1 || left[0].Endpoint != "wh_b" {
		t.Errorf("%+v, %v", left, err)
	}
	for body, code := range map[string]string{`{"endpoint":"everything"}`: "invalid_request", `{"endpoint":"wh_a","cursor":"x"}`: "bad_cursor"} {
		if got := s.send("POST", webhooksPath+"/deliveries/redrive", body, bearer("secret")); got.StatusCode != 400 || got.problem(t).Code != code {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.text)
		}
	}
}

// stuck can't put the notices of some events back.
type stuck struct {
	webhooks.Deliveries
	refuses func(event int64) bool
}

func (s stuck) RedriveNotice(ctx context.Context, k notice.Key, event, now int64) error {
	if s.refuses(event) {
		return engine.ErrDenied
	}
	return s.Deliveries.RedriveNotice(ctx, k, event, now)
}

// The newest, which is tried first, and one of the second page can't be put back.
func TestADeliveryThatCannotBeRedrivenKeepsNoOtherDead(t *testing.T) {
	all := false
	s := newServer(t, settings{token: "secret", desk: func(o *webhooks.Options) {
		o.Deliveries = stuck{o.Deliveries, func(event int64) bool { return all || event == 120 || event == 7 }}
	}})
	s.client = s.client.With(client.WithToken("secret"))
	for event := range int64(120) {
		s.dead("thr_a", "wh_a", event+1)
	}
	if got, err := s.client.RedriveEndpoint(t.Context(), "wh_a"); err != nil || got != 118 {
		t.Errorf("%d redriven, %v", got, err)
	}
	left, err := client.Collect(s.client.Deliveries(t.Context(), client.DeliveryFilter{Dead: true}))
	if err != nil || len(left) != 2 || left[0].Event != 120 || left[1].Event != 7 {
		t.Errorf("%+v, %v", left, err)
	}
	all = true
	if got := s.send("POST", webhooksPath+"/deliveries/redrive", `{"endpoint":"wh_a"}`, bearer("secret")); got.StatusCode < 500 {
		t.Errorf("nothing can be redriven: %d %s", got.StatusCode, got.text)
	}
}
