package subscribers_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/program/subscribers"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

var (
	_ engine.Subscribers = (*subscribers.Subscribers)(nil)
	_ notify.Targets     = (*subscribers.Subscribers)(nil)
)

const tenant = "acme"

// fixture is a real store with a frontend that starts runs. It counts what is read for subscribers.
type fixture struct {
	*testing.T
	*sqlite.DB
	clock  *frontendtest.Clock
	front  *frontend.Frontend
	worker frontendtest.Worker
	subs   *subscribers.Subscribers
	reads  map[string]int
	fail   error
	gone   bool // the payloads
	path   string
}

func newFixture(t *testing.T) *fixture {
	x := &fixture{T: t, clock: frontendtest.NewClock(), reads: map[string]int{}}
	random := &frontendtest.Random{}
	x.DB, x.path = sqlitetest.Open(t, x.clock, random)
	x.front = frontend.New(frontend.Options{Store: x.DB, Catalog: x.DB, Waker: &frontendtest.Waker{}, Clock: x.clock, Random: random})
	x.worker = frontendtest.Worker{Test: t, Store: x.DB, Clock: x.clock, Random: random, Tenant: tenant}
	x.forget()
	return x
}

// forget begins with empty caches, as another process does.
func (x *fixture) forget() {
	clear(x.reads)
	x.subs = subscribers.New(subscribers.Options{Definitions: x, Runs: x, Webhooks: x, Clock: x.clock, Stale: subscribers.Stale})
}

func (x *fixture) Definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error) {
	x.reads["definition"]++
	return x.DB.Definition(ctx, tenant, name, digest)
}

func (x *fixture) Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error) {
	if x.reads["start"]++; x.gone {
		return nil, engine.ErrNotFound
	}
	return x.DB.Payload(ctx, tenant, thread, digest)
}

func (x *fixture) Webhooks(ctx context.Context, tenant string) ([]notice.Webhook, error) {
	if x.reads["webhooks"]++; x.fail != nil {
		return nil, x.fail
	}
	return x.DB.Webhooks(ctx, tenant)
}

func (x *fixture) Disabled(ctx context.Context, tenant string, endpoints []string) (map[string]notice.Disabled, error) {
	x.reads["disabled"]++
	return x.DB.Disabled(ctx, tenant, endpoints)
}

// deploy deploys a version of an agent with these targets.
func (x *fixture) deploy(name string, targets ...notice.Target) {
	x.Helper()
	x.deployed(agent.Definition{Name: name, Model: agent.Model{Provider: agent.ProviderScripted}, Notify: targets})
}

func (x *fixture) deployed(d agent.Definition) {
	x.Helper()
	if err := x.PutDefinition(x.Context(), engine.Definition{Tenant: tenant, Name: d.Name, Digest: d.Digest(), Body: d.Encode()}); err != nil {
		x.Fatal(err)
	}
	if err := x.Deploy(x.Context(), tenant, d.Name, d.Digest()); err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) start(name, thread string, notify ...wire.NotifyTarget) wire.Run {
	x.Helper()
	s, err := x.front.Start(x.Context(), frontend.Caller{Tenant: tenant}, "", wire.StartRequest{Agent: name, ThreadID: thread, Input: core.Encode("hi"), Notify: notify})
	if err != nil {
		x.Fatal(err)
	}
	x.clock.AfterFunc(time.Millisecond, func() {})
	return s.Run
}

func (x *fixture) add(id string, agents ...string) {
	x.Helper()
	w := notice.Webhook{Tenant: tenant, ID: id, Rev: 1, Agents: agents, Target: notice.Target{Name: id, On: notice.Set{notice.Decided}, URL: "https://" + id + ".example.com/", Secret: "KEY"}}
	if err := x.PutWebhook(x.Context(), w); err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) want(run wire.Run, want ...string) {
	x.Helper()
	h, err := x.Load(x.Context(), tenant, run.ThreadID)
	if err != nil {
		x.Fatal(err)
	}
	subs, err := x.subs.Of(x.Context(), h)
	if err != nil {
		x.Fatal(err)
	}
	var got []string
	for _, s := range subs {
		raw, _ := json.Marshal(s.On)
		got = append(got, s.Endpoint+" "+string(raw))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		x.Errorf("subscriptions (-want +got):\n%s", diff)
	}
}

// wantURL checks where a notice of a decision is sent to; "" is nowhere.
func (x *fixture) wantURL(run wire.Run, endpoint, want string) {
	x.Helper()
	x.wantSent(run, endpoint, core.Event{Type: core.EventDecisionRecorded, Data: []byte(`{"applied":true}`)}, want)
}

func (x *fixture) wantSent(run wire.Run, endpoint string, e core.Event, want string) {
	x.Helper()
	t, err := x.subs.Target(x.Context(), delivery.Notice{Key: notice.Key{Tenant: tenant, Thread: run.ThreadID, Endpoint: endpoint}, Event: e})
	if t.URL != want || errors.Is(err, notify.ErrNoTarget) != (want == "") || err != nil && !errors.Is(err, notify.ErrNoTarget) {
		x.Errorf("%s is at %q, %v; want %q", endpoint, t.URL, err, want)
	}
}

// damage spoils what is stored of the tenant's webhooks, or of the marks of disabled ones.
func (x *fixture) damage(table, body string) {
	x.Helper()
	raw, err := sql.Open("sqlite", x.path)
	if err != nil {
		x.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec("UPDATE "+table+" SET body = ?", body); err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) wantReads(want map[string]int) {
	x.Helper()
	if diff := cmp.Diff(want, x.reads); diff != "" {
		x.Errorf("reads (-want +got):\n%s", diff)
	}
}

var (
	pager = notice.Target{Name: "pager", On: notice.Set{notice.Suspended}, URL: "https://pager.example.com/", Secret: "KEY"}
	ci    = wire.NotifyTarget{Name: "ci", On: []string{"done"}, URL: "https://ci.example.com/", Secret: "CALLBACK_CI"}
)

func TestWhoIsNotifiedOfARun(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk", pager)
	x.deploy("shop")
	x.add("wh_all")
	x.add("wh_shop", "shop")
	desk, shop := x.start("desk", "", ci), x.start("shop", "")
	x.want(desk, `agent/desk/pager ["suspended"]`, "run/"+desk.ID+`/ci ["done"]`, `wh_all ["decided"]`)
	x.want(shop, `wh_all ["decided"]`, `wh_shop ["decided"]`)
	x.wantURL(desk, "agent/desk/pager", "https://pager.example.com/")
	x.wantURL(desk, "run/"+desk.ID+"/ci", "https://ci.example.com/")
	x.wantURL(desk, "wh_all", "https://wh_all.example.com/")
	for _, none := range []string{"agent/desk/other", "agent/shop/pager", "agent/none/pager", "run/" + shop.ID + "/ci", "run/run_x_0/ci", "wh_none", "ops", ""} {
		x.wantURL(desk, none, "")
	}
}

func TestARunWithoutSubscribersCostsOneReadInAWhile(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk")
	run := x.start("desk", "")
	for range 3 {
		x.want(run)
	}
	x.wantReads(map[string]int{"definition": 1, "webhooks": 1})
	x.clock.AfterFunc(subscribers.Stale, func() {})
	x.want(run)
	x.wantReads(map[string]int{"definition": 1, "webhooks": 2})
}

// A webhook that can't be read stops no run, and loses no notice: until it can be read, notices are
// queued for all that it may ask for. Afterwards those that it doesn't ask for are dropped.
func TestADamagedWebhookStopsNoRunAndLosesNoNotice(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk")
	x.deploy("shop")
	x.add("wh_shop", "shop")
	desk, shop := x.start("desk", ""), x.start("shop", "")
	x.want(desk)
	whole := x.body("wh_shop")
	x.damage("webhooks", "{")
	x.forget()
	const all = `wh_shop ["suspended","reminded","deadline_near","decided","done","failed"]`
	x.want(desk, all)
	x.want(shop, all)
	h := notice.Key{Tenant: tenant, Thread: shop.ThreadID, Endpoint: "wh_shop"}
	if _, err := x.subs.Target(t.Context(), delivery.Notice{Key: h}); !errors.Is(err, engine.ErrUnreadable) || errors.Is(err, notify.ErrNoTarget) {
		t.Errorf("a notice for it: %v; it must wait", err)
	}
	x.damage("webhooks", whole)
	x.forget()
	x.want(shop, `wh_shop ["decided"]`)
	x.wantURL(shop, "wh_shop", "https://wh_shop.example.com/")
	x.wantURL(desk, "wh_shop", "") // it never asked for this agent
	x.wantSent(shop, "wh_shop", core.Event{Type: core.EventRunEnded}, "")
}

func (x *fixture) body(id string) string {
	x.Helper()
	w, err := x.Webhook(x.Context(), tenant, id)
	if err != nil {
		x.Fatal(err)
	}
	return string(core.Encode(w))
}

// An endpoint whose mark can't be read stays disabled until it is enabled, and stops no run.
func TestADamagedMarkStopsNoRun(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk")
	x.add("wh_a")
	x.add("wh_b")
	run := x.start("desk", "")
	if err := x.subs.Disable(t.Context(), notice.Key{Tenant: tenant, Endpoint: "wh_a"}, "410 Gone"); err != nil {
		t.Fatal(err)
	}
	x.damage("disabled_endpoints", "{")
	x.forget()
	x.want(run, `wh_b ["decided"]`)
	x.wantURL(run, "wh_a", "")
	if err := x.EnableEndpoint(t.Context(), tenant, "wh_a"); err != nil {
		t.Fatal(err)
	}
	x.forget()
	x.want(run, `wh_a ["decided"]`, `wh_b ["decided"]`)
}

// A webhook that was added before a run started has effect on it, whatever was read for others.
func TestANewRunKnowsTheWebhooksOfItsTime(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk")
	older := x.start("desk", "")
	x.want(older)
	x.add("wh_new")
	x.want(older)
	run := x.start("desk", "")
	x.want(run, `wh_new ["decided"]`)
	x.want(older, `wh_new ["decided"]`)
	x.wantReads(map[string]int{"definition": 1, "webhooks": 2, "disabled": 1})
	if err := x.subs.Disable(t.Context(), notice.Key{Tenant: tenant, Endpoint: "wh_new"}, "410 Gone"); err != nil {
		t.Fatal(err)
	}
	if err := x.EnableEndpoint(t.Context(), tenant, "wh_new"); err != nil {
		t.Fatal(err)
	}
	x.want(run)
	x.want(x.start("desk", ""), `wh_new ["decided"]`)
}

// A server whose store is at hand reads webhooks each time.
func TestWebhooksThatAreReadEachTime(t *testing.T) {
	x := newFixture(t)
	x.subs = subscribers.New(subscribers.Options{Definitions: x, Runs: x, Webhooks: x, Clock: x.clock})
	x.deploy("desk")
	run := x.start("desk", "")
	x.want(run)
	x.add("wh_new")
	x.want(run, `wh_new ["decided"]`)
	if err := x.subs.Disable(t.Context(), notice.Key{Tenant: tenant, Endpoint: "wh_new"}, "410 Gone"); err != nil {
		t.Fatal(err)
	}
	x.want(run)
	if err := x.EnableEndpoint(t.Context(), tenant, "wh_new"); err != nil {
		t.Fatal(err)
	}
	x.want(run, `wh_new ["decided"]`)
}

func TestSubscriptionsAreReadAgainAfterAWhile(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk", pager)
	run := x.start("desk", "", ci)
	own := "run/" + run.ID + `/ci ["done"]`
	x.want(run, `agent/desk/pager ["suspended"]`, own)
	x.add("wh_late")
	x.want(run, `agent/desk/pager ["suspended"]`, own)
	x.wantReads(map[string]int{"definition": 1, "start": 1, "webhooks": 1, "disabled": 1})
	x.clock.AfterFunc(subscribers.Stale, func() {})
	x.want(run, `agent/desk/pager ["suspended"]`, own, `wh_late ["decided"]`)
	x.wantReads(map[string]int{"definition": 1, "start": 1, "webhooks": 2, "disabled": 2})
}

func TestADisabledEndpointGetsNothingUntilItIsEnabled(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk", pager)
	x.add("wh_all")
	run := x.start("desk", "", ci)
	own := "run/" + run.ID + "/ci"
	x.want(run, `agent/desk/pager ["suspended"]`, own+` ["done"]`, `wh_all ["decided"]`)
	for _, endpoint := range []string{"agent/desk/pager", own, "wh_all"} {
		if err := x.subs.Disable(t.Context(), notice.Key{Tenant: tenant, Thread: run.ThreadID, Endpoint: endpoint}, "410 Gone"); err != nil {
			t.Fatal(err)
		}
		x.wantURL(run, endpoint, "")
	}
	x.want(run)
	x.forget()
	x.want(run) // another process knows it too
	if err := x.EnableEndpoint(t.Context(), tenant, "agent/desk/pager"); err != nil {
		t.Fatal(err)
	}
	x.wantURL(run, "agent/desk/pager", "https://pager.example.com/")
	x.clock.AfterFunc(subscribers.Stale, func() {})
	x.want(run, `agent/desk/pager ["suspended"]`)
}

// A run subscribes as its version says. What it owes is sent to where the deployed version says, if
// that has the target.
func TestTargetsOfOtherVersions(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk", pager)
	run := x.start("desk", "")
	moved := pager
	moved.URL, moved.On = "https://new.example.com/", notice.Set{notice.Done}
	x.deploy("desk", moved)
	x.want(run, `agent/desk/pager ["suspended"]`)
	x.wantURL(run, "agent/desk/pager", "https://new.example.com/")
	x.deploy("desk")
	x.want(run, `agent/desk/pager ["suspended"]`)
	x.wantURL(run, "agent/desk/pager", "https://pager.example.com/")
	if err := x.Undeploy(t.Context(), tenant, "desk"); err != nil {
		t.Fatal(err)
	}
	x.wantURL(run, "agent/desk/pager", "https://pager.example.com/")
}

func TestTheTargetOfAnEarlierRunOutlivesIt(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk")
	run := x.start("desk", "", ci)
	x.worker.End(run.ID, core.Reason{Kind: core.NaturalEnd}, "")
	next := x.start("desk", run.ThreadID)
	x.forget()
	x.want(next)
	x.wantURL(next, "run/"+run.ID+"/ci", "https://ci.example.com/")
	x.wantURL(next, "run/"+next.ID+"/ci", "")
}

func TestAStoreThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk")
	run := x.start("desk", "")
	h, err := x.Load(t.Context(), tenant, run.ThreadID)
	if err != nil {
		t.Fatal(err)
	}
	x.fail = engine.ErrUnavailable
	if _, err := x.subs.Of(t.Context(), h); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	x.fail = nil
	x.want(run)
	x.clock.AfterFunc(time.Hour, func() {})
	x.fail = engine.ErrUnavailable
	if _, err := x.subs.Of(t.Context(), h); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestARunWhoseTargetsAreGoneHasItsOtherSubscribers(t *testing.T) {
	x := newFixture(t)
	x.deploy("desk", pager)
	run := x.start("desk", "", ci)
	x.gone = true
	x.want(run, `agent/desk/pager ["suspended"]`)
	x.wantURL(run, "run/"+run.ID+"/ci", "")
	x.gone = false
	x.want(run, `agent/desk/pager ["suspended"]`, "run/"+run.ID+`/ci ["done"]`)
}
