package engine_test

import (
	"context"
	"slices"
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
	// claim, journal, drain with intent ✗ body
	r.store = &breaking{Store: r.db, at: 3, how: dies}
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

func TestABodyThatWaitsTwiceIsHandedItsNewestAnswer(t *testing.T) {
	for _, second := range []core.ResumeMode{core.PassDecisionToTool, core.ReplayToolCall} {
		r := newRig(t, calls(call("c1", "paint", `{}`)), says("done"))
		questions := []core.ResumeMode{core.PassDecisionToTool, second}
		var handed []string
		r.tool("paint", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			answer := ""
			if req.Resume != nil {
				answer = req.Resume.DecisionID
			}
			handed = append(handed, answer)
			if n := len(handed); n <= len(questions) {
				return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: questions[n-1], Suspension: core.Suspension{Action: "confirm", Message: "which?"}}}, nil
			}
			return core.Outcome{Text: "painted"}, nil
		}})
		r.play()
		r.must(r.decide("c1", resume("color", `"blue"`)))
		r.work()
		r.must(r.decide("c1", resume("size", `"large"`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		want := []string{"", "color", "size"}
		if second == core.ReplayToolCall {
			// replayed: no answer is handed over, and not that of another question
			// either
			want[2] = ""
		}
		if !slices.Equal(handed, want) {
			t.Errorf("then %s: the body was handed %q, want %q", second, handed, want)
		}
	}
}
