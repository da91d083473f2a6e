package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// situation is one way in which the call c1 of pay ends.
type situation struct {
	outcome core.CallOutcome
	when    string
	play    func(*rig)
	event   core.EventType
	says    string // to the model
	bodies  int    // that ran
}

// situations has each outcome of the closed list, in its order; some come about in several ways.
var situations = []situation{
	{core.CallOutcomeSucceeded, "the tool returns a result", func(r *rig) { r.allow("pay"); r.play() }, core.EventCallSucceeded, `pay did {"amount":5}`, 1},
	{core.CallOutcomeSucceeded, "the client returns a result", func(r *rig) {
		r.tool("pay", toolRule{spec: core.ToolSpec{Client: true}, effect: core.Allow})
		r.answered(resume("d", `"paid in cash"`))
	}, core.EventCallSucceeded, "paid in cash", 0},
	{core.CallOutcomeSucceeded, "the client returns an empty result", func(r *rig) {
		r.tool("pay", toolRule{spec: core.ToolSpec{Client: true}, effect: core.Allow})
		r.answered(resume("d", `""`))
	}, core.EventCallSucceeded, "", 0},
	{core.CallOutcomeSucceeded, "the approver returns the result", func(r *rig) {
		r.tool("pay", toolRule{effect: core.Ask, mode: core.UseDecisionAsToolResult})
		r.answered(resume("d", `"paid by hand"`))
	}, core.EventCallSucceeded, "paid by hand", 0},
	{core.CallOutcomeToolError, "the tool returns an error", func(r *rig) { r.paying(errors.New("the card was refused")); r.play() },
		core.EventCallFailed, "the card was refused", 1},
	{core.CallOutcomeToolError, "the client returns an error", func(r *rig) {
		r.tool("pay", toolRule{spec: core.ToolSpec{Client: true}, effect: core.Allow})
		r.answered(core.Resume{DecisionID: "d", Action: core.ActionResume, Error: "no money"})
	}, core.EventCallFailed, "no money", 0},
	{core.CallOutcomeUnknownTool, "the agent has no such tool", func(r *rig) { r.play() }, core.EventCallFailed, `There is no tool named "pay".`, 0},
	{core.CallOutcomeUnknownTool, "the program has no such tool", func(r *rig) {
		r.tool("pay", toolRule{effect: core.Allow, bodiless: true})
		r.play()
	}, core.EventCallFailed, `The tool "pay" is no longer available; the call did not run.`, 0},
	{core.CallOutcomeUnknownTool, "the tool went while the call waited", func(r *rig) {
		r.ask("pay")
		r.waiting()
		delete(r.tools, "pay")
		r.decided(resume("d", `true`))
	}, core.EventCallFailed, `The tool "pay" no longer exists; the call did not run.`, 0},
	{core.CallOutcomeNotOffered, "a hook left the tool out", func(r *rig) {
		r.allow("pay")
		r.watching("h").wants(core.BeforeInference, core.Effects{Exclude: []string{"pay"}})
		r.play()
	}, core.EventCallFailed, `Not run: the tool "pay" is not offered in this step.`, 0},
	{core.CallOutcomeInvalidArguments, "the arguments don't match the schema", func(r *rig) {
		r.tool("pay", toolRule{effect: core.Ask, invalid: "to: is missing"})
		r.play()
	}, core.EventCallFailed, "The arguments are not valid: to: is missing", 0},
	{core.CallOutcomeInvalidArguments, "readers could understand the arguments differently", func(r *rig) {
		r.allow("pay")
		r.turns[0] = calls(call("c1", "pay", `{"amount":5,"amount":500}`))
		r.play()
	}, core.EventCallFailed, `The arguments are not valid: "amount" is given twice`, 0},
	{core.CallOutcomeInvalidArguments, "the edited arguments don't match it", func(r *rig) {
		r.tool("pay", toolRule{effect: core.Ask, check: func(c core.ToolCall) error {
			if string(c.Arguments) == `{}` {
				return errors.New("amount: is missing")
			}
			return nil
		}})
		r.answered(edit("d", `{}`))
	}, core.EventCallFailed, "Not run: the edited arguments are not valid: amount: is missing", 0},
	{core.CallOutcomeBudgetExhausted, "the run has made all its calls", func(r *rig) {
		r.allow("pay")
		r.terms.RunCalls = 1
		r.turns[0] = calls(call("c0", "pay", `{"amount":1}`), call("c1", "pay", `{"amount":5}`))
		r.play()
	}, core.EventCallFailed, "budget_exhausted: this run may make at most 1 tool calls; the call did not run.", 1},
	{core.CallOutcomeDeniedByRule, "a permission denies it", func(r *rig) {
		r.tool("pay", toolRule{effect: core.Deny, reason: "not on Sundays"})
		r.play()
	}, core.EventCallFailed, "Not allowed: not on Sundays", 0},
	{core.CallOutcomeDeniedByRule, "a hook denies it", func(r *rig) {
		r.allow("pay")
		r.watching("h").wants(core.BeforeToolExecute, core.Effects{Refuse: "The till is closed."})
		r.play()
	}, core.EventCallFailed, "The till is closed.", 0},
	{core.CallOutcomeBlocked, "a permission ends the run", func(r *rig) {
		r.tool("pay", toolRule{effect: core.Block, reason: "fraud"})
		r.play()
	}, core.EventCallFailed, "Blocked: fraud", 0},
	{core.CallOutcomeSetByRule, "a hook supplies the result", func(r *rig) {
		r.allow("pay")
		r.watching("h").gate = func(core.ToolCall, core.State) *core.Verdict {
			return &core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "paid before"}}
		}
		r.play()
	}, core.EventCallSucceeded, "paid before", 0},
	{core.CallOutcomeSetByRule, "a hook supplies a failure", func(r *rig) {
		r.allow("pay")
		r.watching("h").gate = func(core.ToolCall, core.State) *core.Verdict {
			return &core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "paid twice already", Failed: true}}
		}
		r.play()
	}, core.EventCallFailed, "paid twice already", 0},
	{core.CallOutcomeDeniedByPerson, "the approver denies it", func(r *rig) { r.ask("pay"); r.answered(cancelled("d", "too much")) },
		core.EventCallCancelled, "Not approved: the call did not run. Reason: too much", 0},
	{core.CallOutcomeDeclined, "the client sends cancel", func(r *rig) {
		r.tool("pay", toolRule{spec: core.ToolSpec{Client: true}, effect: core.Allow})
		r.answered(cancelled("d", "no wallet here"))
	}, core.EventCallCancelled, "Cancelled: there is no result. Reason: no wallet here", 0},
	{core.CallOutcomeDeclined, "the person who was asked sends cancel", func(r *rig) {
		r.suspending("pay", core.UseDecisionAsToolResult, 1)
		r.answered(cancelled("d", ""))
	}, core.EventCallCancelled, "Cancelled: there is no result.", 1},
	{core.CallOutcomeTimedOut, "the deadline fails it", func(r *rig) { r.lapsing(core.KindApproval, core.Deadline{Within: hour}) },
		core.EventCallFailed, "Not run: no one approved it in time.", 0},
	{core.CallOutcomeTimedOut, "the deadline cancels it", func(r *rig) {
		r.lapsing(core.KindApproval, core.Deadline{Within: hour, Outcome: core.DeadlineCancel})
	}, core.EventCallCancelled, "Not approved: the call did not run. Reason: no answer arrived in time", 0},
	{core.CallOutcomeTimedOut, "the deadline answers it", func(r *rig) {
		r.lapsing(core.KindClient, core.Deadline{Within: hour, Outcome: core.DeadlineResult, Result: json.RawMessage(`"unpaid"`)})
	}, core.EventCallSucceeded, "unpaid", 0},
	{core.CallOutcomeAbandoned, "a message abandons it", func(r *rig) {
		r.ask("pay")
		r.waiting()
		r.must(r.sayOn("m1", "never mind", core.PendingAbandon))
		r.work()
	}, core.EventCallCancelled, "Cancelled: the user sent a new message instead of an answer to this call.", 0},
	{core.CallOutcomeAbandoned, "a message abandons it while its outcome is unknown", func(r *rig) {
		r.doubtful()
		r.must(r.sayOn("m1", "never mind", core.PendingAbandon))
		r.work()
	}, core.EventCallCancelled, "Cancelled: the user sent a new message instead of an answer; it is unknown whether this call took effect.", 1},
	{core.CallOutcomeOutOfTime, "it takes longer than an activation", func(r *rig) {
		r.tool("pay", toolRule{effect: core.Allow, body: func(ctx context.Context, _ engine.ToolRequest) (core.Outcome, error) {
			for ctx.Err() == nil {
				r.clock.Advance(time.Second)
			}
			return core.Outcome{}, context.Cause(ctx)
		}})
		r.play()
		r.pass(time.Minute)
	}, core.EventCallFailed, "The tool did not finish in time.", 1},
	{core.CallOutcomeLost, "its worker crashes each time", func(r *rig) {
		r.dying(3, core.ToolSpec{})
	}, core.EventCallFailed, "The outcome of this call is unknown: the worker crashed repeatedly before or while it ran.", 3},
	{core.CallOutcomeLost, "its outcome is unknown, and nobody can tell", func(r *rig) {
		r.doubtful()
		r.decided(cancelled("d", ""))
	}, core.EventCallCancelled, "Cancelled: it is unknown whether the call took effect, and it was not run again.", 1},
	{core.CallOutcomeNotFinished, "the model finishes beside a failed call", func(r *rig) {
		r.finishing()
		r.turns[0] = calls(call("c0", "pay", `{}`), finish("c1", "done"))
		r.play()
	}, core.EventCallFailed, "Not finished: a call of the same turn did not succeed. Look at its result first.", 0},
	{core.CallOutcomeRunCancelled, "the run is cancelled while it waits", func(r *rig) {
		r.ask("pay")
		r.waiting()
		r.must(r.cancel())
		r.work()
	}, core.EventCallCancelled, "Not run: the run ended first (cancelled).", 0},
	{core.CallOutcomeRunCancelled, "the run is cancelled while it runs", func(r *rig) {
		r.tool("pay", toolRule{effect: core.Allow, body: func(ctx context.Context, _ engine.ToolRequest) (core.Outcome, error) {
			r.must(r.cancel())
			for ctx.Err() == nil {
				r.clock.Advance(time.Second)
			}
			return core.Outcome{}, context.Cause(ctx)
		}})
		r.play()
	}, core.EventCallCancelled, "Cancelled: the run ended (cancelled) while this call was running; it may or may not have taken effect.", 1},
	{core.CallOutcomeRunEnded, "another call ends the run", func(r *rig) {
		r.tool("steal", toolRule{effect: core.Block, reason: "fraud"})
		r.allow("pay")
		r.turns[0] = calls(call("c0", "steal", `{}`), call("c1", "pay", `{"amount":5}`))
		r.play()
	}, core.EventCallCancelled, "Not run: the run ended first (blocked).", 0},
	{core.CallOutcomeChildFailed, "the called agent fails", func(r *rig) {
		r.childEnds(core.Encode(core.ChildResult{Outcome: core.CallOutcomeChildFailed, Code: "model_error", Detail: "no such model"}))
	}, core.EventCallFailed, "The agent helper failed (model_error): no such model", 0},
	{core.CallOutcomeChildStopped, "the called agent is stopped", func(r *rig) {
		r.childEnds(core.Encode(core.ChildResult{Outcome: core.CallOutcomeChildStopped, Code: "max_cost"}))
	}, core.EventCallFailed, "The agent helper was stopped (max_cost).", 0},
	{core.CallOutcomeChildBlocked, "a rule blocks the called agent", func(r *rig) {
		r.childEnds(core.Encode(core.ChildResult{Outcome: core.CallOutcomeChildBlocked, Code: "blocked_by_rule", Detail: "fraud"}))
	}, core.EventCallFailed, "The agent helper was blocked by a rule (blocked_by_rule): fraud", 0},
	{core.CallOutcomeChildCancelled, "the called agent is cancelled by hand", func(r *rig) {
		r.childEnds(core.Encode(core.ChildResult{Outcome: core.CallOutcomeChildCancelled}))
	}, core.EventCallFailed, "The agent helper was cancelled.", 0},
	{core.CallOutcomeChildUnavailable, "the called agent is not deployed", func(r *rig) {
		r.tool("gone", toolRule{effect: core.Allow, spec: core.ToolSpec{Agent: true}})
		r.turns[0] = calls(call("c1", "gone", `{"amount":5}`))
		r.play()
	}, core.EventCallFailed, "The agent gone could not be started: it is not deployed.", 0},
	{core.CallOutcomeChildLost, "what the called agent left cannot be read", func(r *rig) {
		r.childEnds(nil)
	}, core.EventCallFailed, "The agent helper was lost: it is unknown what it has done: its result cannot be read", 0},
}

// childEnds calls another agent, which ends so.
func (r *rig) childEnds(result json.RawMessage) {
	r.tool("pay", toolRule{effect: core.Allow, spec: core.ToolSpec{Agent: true}})
	r.play()
	sus := r.head().Calls["c1"].Sus
	_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: r.head().Run, InboxKey: sus, Call: "c1", Suspension: sus,
		Signal: core.Signal{Kind: core.SignalChild, Call: "c1", Value: result, At: r.now()}, Due: r.now() + 5000, Wake: &engine.Delay{}})
	r.must(err)
	r.step()
}

// TestOutcomes plays each situation: event, tool message and API say the outcome that its sentence
// describes.
func TestOutcomes(t *testing.T) {
	rows := map[core.CallOutcome]bool{}
	for _, s := range situations {
		rows[s.outcome] = true
		t.Run(string(s.outcome)+": "+s.when, func(t *testing.T) {
			r := newRig(t, calls(call("c1", "pay", `{"amount":5}`)), says("done"))
			s.play(r)
			r.wantOutcome(s)
		})
	}
	for _, w := range core.CallOutcomes {
		if !rows[w.Outcome] {
			t.Errorf("no situation ends as %s: %s", w.Outcome, w.Means)
		}
	}
}

// wantOutcome holds what callers read of the call's end, and what the model reads, against the
// situation.
func (r *rig) wantOutcome(s situation) {
	r.t.Helper()
	front := query.New(frontend.New(frontend.Options{Store: r.db, Catalog: r.db, Waker: r.db, Clock: r.clock, Random: r.random}))
	caller := frontend.Caller{Tenant: "t"}
	events, err := front.Events(r.ctx, caller, core.RunID(r.thread, 0), query.EventQuery{Limit: 1000})
	r.must(err)
	messages, err := front.Messages(r.ctx, caller, r.thread, query.List{})
	r.must(err)

	var ends []wire.CallEndedData
	for _, e := range events.Items {
		var end wire.CallEndedData
		if strings.HasPrefix(e.Type, "call.") && json.Unmarshal(e.Data, &end) == nil && end.CallID == "c1" && end.Outcome != "" {
			ends = append(ends, end)
			if e.Type != string(s.event) {
				r.t.Errorf("the call ended with %s, want %s", e.Type, s.event)
			}
		}
	}
	shown := slices.IndexFunc(messages.Items, func(m wire.Message) bool { return m.CallID == "c1" && !m.Pending })
	if len(ends) != 1 || shown < 0 {
		r.t.Fatalf("the call ended %d times, and its message is the %d. one", len(ends), shown)
	}
	end, m := ends[0], messages.Items[shown]
	if end.Outcome != string(s.outcome) || m.Outcome != string(s.outcome) || end.MessageID != m.ID {
		r.t.Errorf("the event says %s of %s, and the message %s of %s; want %s", end.Outcome, end.MessageID, m.Outcome, m.ID, s.outcome)
	}
	if end.Result == nil {
		r.t.Fatalf("a call that has ended has no result: %s", core.Encode(end))
	}
	result := *end.Result
	if !strings.HasPrefix(result, s.says) || m.Text != result || r.resultOf("c1") != result || m.Error != (s.event != core.EventCallSucceeded) {
		r.t.Errorf("the event says %q, the API %q (error: %v) and the model reads %q; want %q", result, m.Text, m.Error, r.resultOf("c1"), s.says)
	}
	r.wantBodies(s, end)
}

// wantBodies holds the call's times and attempts against the bodies that really ran.
func (r *rig) wantBodies(s situation, end wire.CallEndedData) {
	r.t.Helper()
	word := core.CallOutcomes[slices.IndexFunc(core.CallOutcomes, func(w core.CallOutcomeWord) bool { return w.Outcome == s.outcome })]
	mine := 0
	for _, key := range r.keys {
		if strings.Contains(key, "/c1/") {
			mine++
		}
	}
	if len(r.ran) != s.bodies {
		r.t.Errorf("ran %v, want %d bodies", r.ran, s.bodies)
	}
	if end.StartedAt != nil && (word.Ran == "no" || mine == 0) || end.MayHaveRun && word.Ran != "maybe" || end.Attempts > mine {
		r.t.Errorf("%d bodies of the call ran, which a call that ended %s (ran: %s) tells as %+v", mine, s.outcome, word.Ran, end)
	}
}

// waiting plays until the run waits.
func (r *rig) waiting() {
	r.t.Helper()
	r.play().wantRun(core.RunWaiting, 0)
}

// decided answers the call c1.
func (r *rig) decided(d core.Resume) {
	r.t.Helper()
	r.must(r.decide("c1", d))
	r.work()
}

// answered plays until c1 waits, and answers it.
func (r *rig) answered(d core.Resume) {
	r.t.Helper()
	r.waiting()
	r.decided(d)
}

// lapsing lets the deadline of a wait pass.
func (r *rig) lapsing(k core.Kind, limit core.Deadline) {
	r.t.Helper()
	r.deadlines = map[core.Kind]core.Deadline{k: limit}
	r.tool("pay", toolRule{effect: core.Ask})
	if k == core.KindClient {
		r.tool("pay", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
	}
	r.waiting()
	r.pass(2 * time.Hour)
}

// paying is pay with a body that fails.
func (r *rig) paying(err error) {
	r.tool("pay", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) { return core.Outcome{}, err }})
}

// dying does n steps in processes that are lost behind the body of c1, before its outcome is
// committed.
func (r *rig) dying(n int, spec core.ToolSpec) {
	r.t.Helper()
	store := &breaking{Store: r.db, how: dies, before: true}
	r.tool("pay", toolRule{effect: core.Allow, spec: spec, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
		store.now = true
		return core.Outcome{Text: "paid"}, nil
	}})
	r.start("pay 5")
	for range n {
		r.store = store
		r.build(engine.Options{})
		if !r.stepOrDie() {
			r.t.Fatalf("the process was not lost; ran %v", r.ran)
		}
		r.clock.Advance(3 * time.Minute)
	}
	r.store = r.db
	r.build(engine.Options{})
	r.recover()
}

// doubtful plays until a person is asked what became of c1, whose process crashed in its body.
func (r *rig) doubtful() {
	r.t.Helper()
	r.dying(1, core.ToolSpec{Delivery: core.AtMostOnce})
	r.wantRun(core.RunWaiting, 0)
}
