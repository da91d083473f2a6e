package engine_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// misfits leaves word of a refused result.
func (r *rig) misfits(callID, why string) {
	h := r.head()
	sus := h.Calls[callID].Sus
	_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: h.Run, InboxKey: core.MisfitKey(sus), Call: callID, Suspension: sus,
		Signal: core.Signal{Kind: core.SignalMisfit, Call: callID, Sus: sus, Value: core.Encode(why), By: "anna", At: r.now()}, Due: r.now() + 5000, Wake: &engine.Delay{}})
	r.must(err)
}

func TestARefusedResultIsJournaledAndTheCallGoesOnWaiting(t *testing.T) {
	r := newRig(t, calls(call("c1", "locate", `{}`)), says("done"))
	r.tool("locate", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
	r.start("hi")
	r.work()
	sus := r.head().Calls["c1"].Sus
	for range 3 {
		r.misfits("c1", "it has no city")
		r.work()
	}
	h := r.head()
	if h.Status != core.RunWaiting || h.Calls["c1"].Sus != sus || h.Calls["c1"].InvalidAnswers != 3 || r.asked != 1 {
		t.Errorf("the model was asked %d times, and the head is %+v", r.asked, h)
	}
	told := 0
	for _, e := range r.events() {
		if e.Type == core.EventCallInvalidAnswer && strings.Contains(string(e.Data), "it has no city") && strings.Contains(string(e.Data), sus) {
			told++
		}
	}
	if told != 3 {
		t.Errorf("told %d times", told)
	}
	r.must(r.decide("c1", resume("d1", `{"city":"Rome"}`)))
	r.work()
	r.wantConversation("user: hi", "assistant[c1]", `tool(c1): {"city":"Rome"}`, "assistant: done")
}

func TestADecisionOfAStrangerIsJournaledAndTheCallGoesOnWaiting(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
	r.tool("pay", toolRule{effect: core.Ask})
	r.start("hi")
	r.work()
	h := r.head()
	sus := h.Calls["c1"].Sus
	_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: h.Run, InboxKey: core.RefusedKey(sus), Call: "c1", Suspension: sus,
		Signal: core.Signal{Kind: core.SignalRefused, Call: "c1", Sus: sus, Value: core.Encode("not_an_approver"), By: "token:eve", Via: "api", At: r.now()}, Due: r.now() + 5000, Wake: &engine.Delay{}})
	r.must(err)
	r.work()
	if h = r.head(); h.Status != core.RunWaiting || h.Calls["c1"].Sus != sus || h.Calls["c1"].Refused != 1 || len(h.Inbox) != 0 {
		t.Errorf("the head is %+v", h)
	}
	told := 0
	for _, e := range r.events() {
		if e.Type == core.EventDecisionRefused && string(e.Data) == `{"call_id":"c1","suspension":"`+sus+`","code":"not_an_approver","by":"token:eve","via":"api"}` {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	r.must(r.decide("c1", resume("d1", "")))
	r.work()
	r.wantConversation("user: hi", "assistant[c1]", "tool(c1): pay did {}", "assistant: done")
}
