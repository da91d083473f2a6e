package engine_test

import (
	"context"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestTheDecisionIsHandedOverAgainAfterAnUnknownOutcome(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
	r.tool("pay", toolRule{effect: core.Ask, mode: core.PassDecisionToTool, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		if req.Resume == nil {
			return core.Outcome{Text: "paid, and nobody knows what was approved"}, nil
		}
		return core.Outcome{Text: "paid " + string(req.Resume.Result)}, nil
	}})
	r.start("hi")
	r.work()
	r.store = &breaking{Store: r.db, at: 3, how: dies} // claim, journal, drain with intent ✗ body
	r.build(engine.Options{})
	r.must(r.decide("c1", resume("d1", `{"approved":true,"limit":10}`)))
	if !r.stepOrDie() {
		t.Fatal("the process was not lost")
	}
	r.recover()
	if s := r.suspended("c1"); s.Kind != core.KindUnknownOutcome {
		t.Fatalf("suspended as %s", s.Kind)
	}
	r.wantRan()
	r.must(r.decide("c1", resume("d2", ``))) // it did not happen, and may run
	r.work()
	r.wantRun(core.RunDone, core.NaturalEnd)
	r.wantConversation("user: hi", "assistant[c1]", `tool(c1): paid {"approved":true,"limit":10}`, "assistant: done")
}
