package subscribers_test

import (
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// payer asks before its only call.
var payer = agent.Definition{
	Name: "desk", Notify: []notice.Target{pager},
	Model: agent.Model{Provider: agent.ProviderScripted, Turns: []agent.Turn{
		{Given: agent.Given{NoResult: true}, Calls: []agent.ScriptCall{{Tool: "pay", ID: "c1"}}}, {Say: "Paid."}}},
	Tools:       []agent.Tool{{Name: "pay", Recorded: []agent.Answer{{Result: []byte(`"ok"`)}}}},
	Permissions: agent.Permissions{Default: core.Ask},
}

// engine works on the runs of the fixture as a server does.
func (x *fixture) engine() *engine.Engine {
	p := program.Program{Tools: tool.NewRegistry(slog.New(slog.DiscardHandler)), Hooks: hook.NewRegistry(), Clock: machine.Clock{}}
	return engine.New(engine.Options{Store: x.DB, Waker: x.DB, Agents: program.NewAgents(x.DB, p), Clock: machine.Clock{}, Random: &frontendtest.Random{},
		Subscribers: x.subs, Lines: x.DB, Lease: time.Minute, Margin: time.Second, Grain: time.Second})
}

// owed are the kinds of notices on their way, by endpoint and in the order of events.
func (x *fixture) owed(thread string) map[string][]notice.Kind {
	x.Helper()
	lines, err := x.ThreadLines(x.Context(), tenant, thread)
	if err != nil {
		x.Fatal(err)
	}
	owed := map[string][]notice.Kind{}
	for endpoint, line := range lines {
		for _, event := range slices.Sorted(maps.Keys(line.Entries)) {
			owed[endpoint] = append(owed[endpoint], line.Entries[event].Kind)
		}
	}
	return owed
}

func TestARunHandsOverToTheTargetsOfAllSources(t *testing.T) {
	x := newFixture(t)
	x.deployed(payer)
	x.add("wh_all")
	run := x.start("desk", "", ci)
	own := "run/" + run.ID + "/ci"
	e := x.engine()
	step := func() {
		if _, err := e.Step(t.Context(), engine.Wakeup{Tenant: tenant, Thread: run.ThreadID}); err != nil {
			t.Fatal(err)
		}
	}
	step()
	want := map[string][]notice.Kind{"agent/desk/pager": {notice.Suspended}}
	if diff := cmp.Diff(want, x.owed(run.ThreadID)); diff != "" {
		t.Errorf("while it waits (-want +got):\n%s", diff)
	}
	if _, err := x.front.Decide(t.Context(), frontend.Caller{Tenant: tenant}, run.ID, wire.Decision{Target: "c1", Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	step()
	want["wh_all"], want[own] = []notice.Kind{notice.Decided}, []notice.Kind{notice.Done}
	if diff := cmp.Diff(want, x.owed(run.ThreadID)); diff != "" {
		t.Errorf("when it is done (-want +got):\n%s", diff)
	}
}

// planner calls the payer, and waits for its end.
var planner = agent.Definition{
	Name: "planner",
	Model: agent.Model{Provider: agent.ProviderScripted, Turns: []agent.Turn{
		{Given: agent.Given{NoResult: true}, Calls: []agent.ScriptCall{{Tool: "desk", ID: "c1"}}}, {Say: "Planned."}}},
	Tools:       []agent.Tool{{Name: "desk", Agent: &agent.Callee{Name: "desk"}, Parameters: []byte(`{"type":"object"}`)}},
	Permissions: agent.Permissions{Default: core.Allow},
}

// Who is named when a run is started is notified of the questions below it, and not of the ends of
// the runs below.
func TestTheTargetsOfAStartAreNotifiedOfQuestionsBelowIt(t *testing.T) {
	x := newFixture(t)
	x.deployed(payer)
	x.deployed(planner)
	run := x.start("planner", "", wire.NotifyTarget{Name: "ci", URL: "https://ci.example.com", Secret: "CALLBACK_KEY", On: []string{"suspended", "done"}})
	e := x.engine()
	step := func(thread string) core.Head {
		t.Helper()
		if _, err := e.Step(t.Context(), engine.Wakeup{Tenant: tenant, Thread: thread}); err != nil {
			t.Fatal(err)
		}
		h, err := x.Load(t.Context(), tenant, thread)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	root := step(run.ThreadID)
	child := core.ChildThread(tenant, run.ThreadID, root.Calls["c1"].Sus)
	own := "run/" + step(child).Run + "/ci"
	if got := x.owed(child)[own]; !slices.Equal(got, []notice.Kind{notice.Suspended}) {
		t.Errorf("of the question below it hears %v", got)
	}
	if _, err := x.front.Decide(t.Context(), frontend.Caller{Tenant: tenant}, root.Run, wire.Decision{Target: step(child).Calls["c1"].Sus, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	if h := step(child); h.Status != core.RunDone {
		t.Fatalf("the child is %s", h.Status)
	}
	if root = step(run.ThreadID); root.Status != core.RunDone {
		t.Fatalf("the root is %s", root.Status)
	}
	if got := x.owed(child)[own]; !slices.Equal(got, []notice.Kind{notice.Suspended}) {
		t.Errorf("of the child it hears %v", got)
	}
	if got := x.owed(run.ThreadID)["run/"+run.ID+"/ci"]; !slices.Equal(got, []notice.Kind{notice.Done}) {
		t.Errorf("of the root it hears %v", got)
	}
}
