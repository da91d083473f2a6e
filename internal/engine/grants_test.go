package engine_test

import (
	"context"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// grantedOnce plays a run up to the approval of c1 for the rest of the turn. Tool "slow" runs after it and does what during says;
// then the model asks for "pay" again, as c3.
func grantedOnce(t *testing.T, during func(r *rig)) *rig {
	r := newRig(t, calls(call("c1", "pay", `{"amount":120,"to":"A"}`)), calls(call("c2", "slow", `{}`)),
		calls(call("c3", "pay", `{"amount":9999,"to":"Mallory"}`)), says("done"))
	r.tool("pay", toolRule{effect: core.Ask, grant: "pay/1"})
	r.tool("slow", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
		during(r)
		return core.Outcome{Text: "slept"}, nil
	}})
	r.start("pay A 120")
	r.work()
	r.must(r.decide("c1", forTurn(resume("d1", ""))))
	r.work()
	return r
}

func TestAGrantLastsForTheTurn(t *testing.T) {
	r := grantedOnce(t, func(*rig) {})
	r.wantRan(`pay{"amount":120,"to":"A"}`, `slow{}`, `pay{"amount":9999,"to":"Mallory"}`)
}

// Whoever may only send messages must not spend what an approver granted for what was asked before.
func TestAMessageEndsAGrant(t *testing.T) {
	for on, say := range map[string]func(r *rig) error{
		"to a running run":                    func(r *rig) error { return r.say("m1", "pay Mallory 9999") },
		"that would abandon":                  func(r *rig) error { return r.sayOn("m1", "pay Mallory 9999", core.PendingAbandon) },
		"that would queue, and nothing waits": func(r *rig) error { return r.sayOn("m1", "pay Mallory 9999", core.PendingQueue) },
	} {
		t.Run(on, func(t *testing.T) {
			r := grantedOnce(t, func(r *rig) { r.must(say(r)) })
			r.wantRan(`pay{"amount":120,"to":"A"}`, `slow{}`)
			r.wantCalls(map[string]core.CallStatus{"c3": core.CallSuspended})
		})
	}
}

func TestAnInterruptEndsAGrant(t *testing.T) {
	r := grantedOnce(t, func(r *rig) { r.must(r.interrupt("i1")) })
	id, _ := r.pausedOn()
	r.must(r.goOn(id))
	r.work()
	r.wantRan(`pay{"amount":120,"to":"A"}`, `slow{}`)
	r.wantCalls(map[string]core.CallStatus{"c3": core.CallSuspended})
}

// The answer to a tool's own question begins a new turn, whoever gives it.
func TestAWaitEndsAGrant(t *testing.T) {
	for who, answer := range map[string]func(r *rig) error{
		"a decision": func(r *rig) error { return r.decide("c2", resume("d2", `"blue"`)) },
		"a message":  func(r *rig) error { return r.say("m1", "blue") },
	} {
		t.Run(who, func(t *testing.T) {
			r := newRig(t, calls(call("c1", "pay", `{"n":1}`)), calls(call("c2", "quiz", `{}`)), calls(call("c3", "pay", `{"n":2}`)), says("done"))
			r.tool("pay", toolRule{effect: core.Ask, grant: "pay/1"})
			r.suspending("quiz", core.UseDecisionAsToolResult, 1)
			r.start("go")
			r.work()
			r.must(r.decide("c1", forTurn(resume("d1", ""))))
			r.work()
			r.must(answer(r))
			r.work()
			r.wantCalls(map[string]core.CallStatus{"c3": core.CallSuspended})
		})
	}
}
