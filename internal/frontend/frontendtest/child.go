package frontendtest

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Launch is [Worker.Suspend] for calls some of which are of agents: those have an Agent. Their runs
// are started, and returned by call.
func (w Worker) Launch(run string, calls ...Call) map[string]string {
	w.Test.Helper()
	children := map[string]string{}
	for id, sus := range w.Suspend(run, calls...) {
		for _, call := range calls {
			if call.ID == id && call.Agent != "" {
				children[id] = w.Begin(run, sus, call)
			}
		}
	}
	return children
}

// Begin stores the start of the child that a suspended call waits for.
func (w Worker) Begin(run, sus string, call Call) string {
	w.Test.Helper()
	thread, _ := core.ThreadOf(run)
	above, err := w.Store.Load(w.Test.Context(), w.Tenant, thread)
	if err != nil {
		w.Test.Fatal(err)
	}
	now := w.Clock.Now().UnixMilli()
	h := core.Head{Identity: core.Identity{Tenant: w.Tenant, Thread: core.ChildThread(w.Tenant, thread, sus), Run: core.ChildRun(w.Tenant, thread, sus),
		Agent: call.Agent, Version: "sha256:" + call.Agent, Schema: core.SchemaFamily},
		Status: core.RunCreated, Origin: core.Origin{Born: now, At: now}, Calls: map[string]core.Call{}, Waits: core.Waits{TimedOut: map[string]int{}}, Out: map[string]core.Out{},
		Family: core.Family{Parent: &core.Parent{Thread: thread, Run: run, Call: call.ID, Sus: sus, Depth: depthOf(above) + 1}},
		Inbox:  map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, ID: w.Random.Text(16), Value: core.Encode(core.TextParts("look into it")), Via: "run", At: now}}}
	if _, err := w.Store.Start(w.Test.Context(), engine.StartRequest{Head: h, Due: now, Wake: &engine.Delay{}}); err != nil {
		w.Test.Fatalf("start of the child of %s: %v", call.ID, err)
	}
	return h.Run
}

// Delegate lets a call of the run wait for a remote agent, which has accepted its task. The run
// that it returns works for the call, and looks at the task again at next.
func (w Worker) Delegate(run string, call Call, token string, next int64) string {
	w.Test.Helper()
	call.Agent = call.Tool
	child := w.Launch(run, call)[call.ID]
	task := peer.Task{ID: "task-81", Context: "ctx-12", Endpoint: "https://reviews.example.com/a2a", Pushes: true}
	w.step(child, func(c *commit) {
		c.head.Status, c.head.NotBefore = core.RunRunning, next
		c.head.Peer = &peer.Work{Tool: call.Tool, Token: token, Sent: c.head.Epoch, Task: task, Looks: 10}
		c.event(core.EventRemoteStarted, events.RemoteStarted{Task: task.ID, Context: task.Context, URL: task.Endpoint, Pushes: true})
	})
	return child
}

func depthOf(h core.Head) int {
	if h.Parent == nil {
		return 0
	}
	return h.Parent.Depth
}

// startChild journals that a call waits for a child.
func (w Worker) startChild(c *commit, sus string, call Call) *core.Child {
	child := &core.Child{Agent: call.Agent, Version: "sha256:" + call.Agent, Run: core.ChildRun(w.Tenant, c.head.Thread, sus), Thread: core.ChildThread(w.Tenant, c.head.Thread, sus),
		Input: "look into it", Depth: depthOf(c.head) + 1, Deepest: core.DefaultDepth}
	c.head.Children++
	c.head.Schema = core.SchemaOf(c.head)
	c.event(core.EventChildStarted, events.ChildStarted{CallID: call.ID, ToolName: call.Tool, Suspension: sus, Agent: child.Agent, Version: child.Version, RunID: child.Run, ThreadID: child.Thread})
	return child
}

// TakeResult lets the run above take up how a child ended, with what it used.
func (w Worker) TakeResult(child string, outcome core.CallOutcome) core.Head {
	w.Test.Helper()
	thread, _ := core.ThreadOf(child)
	below, err := w.Store.Load(w.Test.Context(), w.Tenant, thread)
	if err != nil {
		w.Test.Fatal(err)
	}
	used := below.Record().Tree()
	return w.step(below.Parent.Run, func(c *commit) {
		c.event(core.EventChildEnded, events.ChildEnded{CallID: below.Parent.Call, Suspension: below.Parent.Sus, RunID: child, Outcome: outcome,
			Applied: true, Usage: events.TreeUsageOf(used)})
		call := c.head.Calls[below.Parent.Call]
		call.Status = core.CallSucceeded
		c.head.Calls[below.Parent.Call] = call
		c.head.Below = c.head.Below.Plus(used)
		rest(&c.head)
	})
}

// Spend notes what the run has used.
func (w Worker) Spend(run string, input, output, cost int64) core.Head {
	return w.step(run, func(c *commit) {
		c.head.Step++
		c.head.InputTokens, c.head.OutputTokens, c.head.Cost, c.head.Priced = c.head.InputTokens+input, c.head.OutputTokens+output, c.head.Cost+cost, true
		rest(&c.head)
	})
}
