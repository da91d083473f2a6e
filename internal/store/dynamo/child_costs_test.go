package dynamo_test

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// callers are three agents: "caller" calls the agent "worker" once, "alone" a tool of its client,
// and "worker" answers at once.
type callers struct {
	tenSteps
	tool string
}

func (callers) Load(_ context.Context, pin engine.Pin) (engine.Agent, error) {
	a := callers{tool: map[string]string{"caller": "ask", "alone": "look"}[pin.Name]}
	return engine.Agent{Instructions: "be helpful", Rules: a, Model: a}, nil
}

func (callers) Newest(context.Context, string, string) (string, error) { return "v", nil }

func (callers) Tool(name string) (core.ToolSpec, bool) {
	return core.ToolSpec{Name: name, Agent: name == "ask", Client: name == "look"}, true
}

func (callers) Gate(core.ToolCall, core.State) core.Verdict { return core.Verdict{Effect: core.Allow} }

func (callers) Deadline(core.ToolCall, core.Kind) core.Deadline { return core.Deadline{} }

func (callers) Child(call core.ToolCall) (core.ChildSpec, bool) {
	return core.ChildSpec{Agent: "worker", Input: "look it up"}, call.Name == "ask"
}

func (c callers) Ask(_ context.Context, p engine.Prompt) (core.Turn, error) {
	if c.tool != "" && p.Messages[len(p.Messages)-1].Role == core.RoleUser {
		return core.Turn{Calls: []core.ToolCall{{ID: "toolu_01A09q90qw90lq917835lq91", Name: c.tool, Arguments: []byte(`{}`)}}, InputTokens: 10, OutputTokens: 5}, nil
	}
	return core.Turn{Text: "It is done.", InputTokens: 10, OutputTokens: 5}, nil
}

// TestWhatAChildCosts compares a run that calls an agent with one that waits for its client, whose
// answer is not counted, and with the called run when it is no child. A child may cost 9 write
// units beyond its own steps, and 12 with the indexes.
func TestWhatAChildCosts(t *testing.T) {
	d := newDouble(t)
	s := quick(t, d)
	clock := standing{at: enginetest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	eng := engine.New(engine.Options{Store: s, Waker: &frontendtest.Waker{}, Agents: callers{}, Clock: clock, Random: enginetest.NewRandom(t, 2)})
	begin := func(agent string) core.Head {
		now := clock.Now().UnixMilli()
		thread := core.ThreadID("of_" + agent)
		w, err := s.Start(t.Context(), engine.StartRequest{Due: now + 5000, Head: core.Head{
			Identity: core.Identity{Tenant: "acme", Thread: thread, Run: core.RunID(thread, 0), Agent: agent, Version: "v", Schema: core.SchemaAlone},
			Origin:   core.Origin{Born: now, At: now},
			Inbox:    map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, ID: "n", Value: core.Encode(core.TextParts("go")), At: now}}}})
		must(t, err)
		d.ResetCounts()
		return w.Head
	}
	step := func(thread string, want core.RunStatus) core.Head {
		t.Helper()
		for n := 0; ; n++ {
			clock.at.Advance(time.Second)
			_, err := eng.Step(t.Context(), engine.Wakeup{Tenant: "acme", Thread: thread})
			must(t, err)
			if h, err := s.Load(t.Context(), "acme", thread); err != nil || h.Status == want || n > 20 {
				must(t, err)
				return h
			}
		}
	}
	waits := step(begin("alone").Thread, core.RunWaiting)
	alone := d.Units()
	for id, c := range waits.Calls {
		answer := core.Encode(core.Resume{DecisionID: "d", Action: core.ActionResume, Result: []byte(`"found"`)})
		_, err := s.Signal(t.Context(), engine.SignalRequest{Tenant: "acme", Thread: waits.Thread, Run: waits.Run, InboxKey: c.Sus, Call: id, Suspension: c.Sus,
			Signal: core.Signal{Kind: core.SignalDecision, Call: id, ID: "d", Value: answer, At: waits.At}, Due: waits.At + 5000})
		must(t, err)
	}
	d.ResetCounts()
	step(waits.Thread, core.RunDone)
	rest := d.Units()
	alone.Write, alone.IndexWrite, alone.Read = alone.Write+rest.Write, alone.IndexWrite+rest.IndexWrite, alone.Read+rest.Read
	step(begin("worker").Thread, core.RunDone)
	worker := d.Units()

	parent := step(begin("caller").Thread, core.RunWaiting)
	for _, c := range parent.Calls {
		if h := step(core.ChildThread("acme", parent.Thread, c.Sus), core.RunDone); h.End == nil || h.End.Kind != core.NaturalEnd {
			t.Fatalf("the child ended: %+v", h.End)
		}
	}
	if h := step(parent.Thread, core.RunDone); h.Below.Runs != 1 {
		t.Fatalf("the parent ended: %+v", h)
	}
	both := d.Units()
	extra := awsdouble.Units{Write: both.Write - alone.Write - worker.Write, IndexWrite: both.IndexWrite - alone.IndexWrite - worker.IndexWrite,
		Read: both.Read - alone.Read - worker.Read}
	t.Logf("a call of a client %+v, the called run on its own %+v, a call of an agent with its run %+v: a child costs %+v more", alone, worker, both, extra)
	if extra.Write > 9 || extra.Write+extra.IndexWrite > 12 {
		t.Errorf("a child costs %g write units beyond its own steps, and %g of indexes; want at most 9, and 12 with them", extra.Write, extra.IndexWrite)
	}
}
