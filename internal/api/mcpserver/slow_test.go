package mcpserver_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

// bench is a server whose runs move only as a test says, and on whose clock every wait is over at
// once.
type bench struct {
	*shop
	worker frontendtest.Worker
	clock  *frontendtest.Clock
}

func newBench(t *testing.T, keys access.LinkKeys) *bench {
	t.Helper()
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	db, _ := sqlitetest.Open(t, clock, random)
	front := frontend.New(frontend.Options{Store: db, Links: db, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{}, Clock: clock, Random: random})
	reads := query.New(front)
	served := protocols.Server{Runs: front, Reads: reads, Inbox: reads, Clock: clock, Version: "test", Auth: "Bearer"}
	if keys != nil {
		served.Keys = func(context.Context, time.Duration) (access.LinkKeys, error) { return keys, nil }
	}
	var grants []access.Grant
	for name, roles := range callers {
		tenant := access.Tenant
		if name == "eve" {
			tenant = "other"
		}
		grants = append(grants, access.Grant{Principal: access.Principal{Name: name, Tenant: tenant, Roles: roles}, Hash: access.HashOf(name)})
	}
	api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: clock, Keys: known{access.NewKeys(grants...)}, Protocols: protocols.All(served)})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(api)
	t.Cleanup(listener.Close)
	return &bench{&shop{t: t, url: listener.URL}, frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: random, Tenant: access.Tenant}, clock}
}

// known are the keys of a test.
type known struct{ access.Keys }

func (k known) Find(_ context.Context, token string) (access.Principal, bool, error) {
	p, ok := k.Keys.Find(token)
	return p, ok, nil
}

func (k known) Named(_ context.Context, name string) (access.Principal, bool, error) {
	p, ok := k.Keys.Named(name)
	return p, ok, nil
}

var oneKey = access.LinkKeys{[]byte("0123456789abcdef0123456789abcdef")}

var pays = frontendtest.Call{ID: "call_1", Tool: "pay", Kind: core.KindApproval}

func TestALongRunIsFollowed(t *testing.T) {
	b := newBench(t, oneKey)
	anna := b.peer("anna", asking)
	told := anna.ask("desk", "pay 50")
	run := told.Result.Meta.Run.RunID
	if !strings.Contains(told.Result.text(), "not done yet") || !strings.Contains(told.Result.text(), `get_run {"run_id": "`+run+`"}`) || told.Result.IsError {
		t.Fatalf("got %s", told.raw)
	}
	b.worker.Suspend(run, pays)
	got := anna.call("get_run", map[string]any{"run_id": run, "wait": 20})
	if !strings.Contains(string(got.Result.StructuredContent), `"status":"waiting"`) {
		t.Errorf("got %s", got.raw)
	}
}

func TestALongRunIsATask(t *testing.T) {
	b := newBench(t, oneKey)
	anna := b.peer("anna", both)
	task := anna.ask("desk", "pay 50")
	if task.Result.ResultType != "task" || task.Result.Status != "working" || task.Result.TaskID == "" {
		t.Fatalf("got %s", task.raw)
	}
	get := func() reply { return anna.send("tasks/get", map[string]any{"taskId": task.Result.TaskID}) }
	if got := get(); got.Result.Status != "working" || got.Result.ResultType != "complete" {
		t.Errorf("got %s", got.raw)
	}
	b.worker.Suspend(task.Result.TaskID, pays)
	asked := get()
	if asked.Result.Status != "input_required" {
		t.Fatalf("got %s", asked.raw)
	}
	anna.send("tasks/update", map[string]any{"taskId": task.Result.TaskID, "inputResponses": map[string]any{asked.sus(t): approved()}})
	if got := get(); got.Result.Status != "working" { // nobody has taken the answer yet
		t.Errorf("got %s", got.raw)
	}
	b.worker.Finish(task.Result.TaskID, "Paid.")
	if got := get(); got.Result.Status != "completed" || got.Result.Result.text() != "Paid." {
		t.Errorf("got %s", got.raw)
	}
}

// A question that comes up while the call waits is asked in its answer.
func TestTheCallWaitsForItsRun(t *testing.T) {
	b := newBench(t, oneKey)
	b.clock.Waiting = func() {
		b.clock.Waiting = nil
		runs, err := b.api("boss").RunPage(t.Context(), client.RunFilter{})
		if err != nil || len(runs.Items) != 1 {
			t.Error(runs, err)
			return
		}
		b.worker.Suspend(runs.Items[0].ID, pays)
	}
	if got := b.peer("anna", asking).ask("desk", "pay 50"); got.Result.ResultType != "input_required" {
		t.Errorf("got %s", got.raw)
	}
}

func TestAStateIsGoodForADay(t *testing.T) {
	b := newBench(t, oneKey)
	anna := b.peer("anna", asking)
	task := b.peer("anna", both).ask("desk", "pay 50").Result.TaskID
	b.worker.Suspend(task, pays)
	state := oneKey.SignState(access.State{Tenant: access.Tenant, By: "token:anna", Run: task, Expires: b.clock.Now().Add(24 * time.Hour)})
	try := func() reply {
		return anna.call("desk", map[string]any{"input": "x"}, map[string]any{"requestState": state})
	}
	asked := try()
	if asked.Result.ResultType != "input_required" {
		t.Fatalf("got %s", asked.raw)
	}
	b.clock.AfterFunc(24*time.Hour, func() {})
	if got := try(); got.code() != "link_expired" || got.Error == nil {
		t.Errorf("got %s", got.raw)
	}
}

// Where there are no keys the state is the run's id, and opens no more than that does.
func TestStatesWithoutKeys(t *testing.T) {
	b := newBench(t, nil)
	task := b.peer("anna", both).ask("desk", "pay 50").Result.TaskID
	sus := b.worker.Suspend(task, pays)["call_1"]
	asked := b.peer("anna", asking).call("desk", map[string]any{"input": "x"}, map[string]any{"requestState": "run:" + task})
	if asked.sus(t) != sus || asked.Result.RequestState != "run:"+task {
		t.Fatalf("got %s", asked.raw)
	}
	for name, code := range map[string]string{"eve": "run_not_found", "reader": "role_required", "starter": "role_required"} {
		got := b.peer(name, asking).call("desk", map[string]any{"input": "x"}, map[string]any{"requestState": "run:" + task, "inputResponses": map[string]any{sus: approved()}})
		if got.code() != code {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	if got := b.peer("anna", asking).call("desk", map[string]any{"input": "x"}, map[string]any{"requestState": task}); got.code() != "invalid_request" {
		t.Errorf("got %s", got.raw)
	}
	b.waiting(task)
}
