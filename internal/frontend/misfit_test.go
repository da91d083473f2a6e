package frontend_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// confirms is a run whose client tool declares {approved: boolean}.
func (x *fixture) confirms() (run wire.Run, sus string) {
	x.t.Helper()
	run = x.start()
	sus = x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "confirm", Kind: core.KindClient, Mode: core.UseDecisionAsToolResult,
		Schema: json.RawMessage(`{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"}}}`)})["c1"]
	return run, sus
}

func TestAResultThatFitsItsDeclaredSchemaIsTaken(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.confirms()
	x.decides(t, "what looks like a verdict", run.ID, sus, wire.Decision{Result: json.RawMessage(`{"approved":true}`)}, "accepted")
}

func TestARefusedResultOfAClientIsLeftForTheJournal(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.confirms()
	misfit := func(n int) wire.Decision {
		return wire.Decision{Result: json.RawMessage(fmt.Sprintf(`{"approved":%d}`, n))}
	}
	x.decides(t, "a misfit", run.ID, sus, misfit(1), "schema_mismatch")
	x.decides(t, "another, while the first is not taken up", run.ID, sus, misfit(2), "schema_mismatch")
	h := x.head(run.ThreadID)
	if s := h.Inbox[core.MisfitKey(sus)]; len(h.Inbox) != 1 || s.Kind != core.SignalMisfit || s.Call != "c1" || s.By != "anna" || h.Due == 0 {
		t.Errorf("the inbox has %+v", h.Inbox)
	}
	x.decides(t, "the right one beside it", run.ID, sus, wire.Decision{Result: json.RawMessage(`{"approved":false}`)}, "accepted")

	other, approval := x.waiting(core.KindApproval)
	x.unchanged(other.ThreadID, func() {
		x.decides(t, "what is no result of a client leaves nothing", other.ID, approval, wire.Decision{Action: "resume", Result: json.RawMessage(`{"x":1}`)}, "wrong_kind")
	})
	_, err := x.decide(run.ID, sus, misfit(3))
	x.wantCode(err, refusal.CodeSchemaMismatch)
	if h := x.head(run.ThreadID); len(h.Inbox) != 2 {
		t.Errorf("after the decision the inbox has %+v", h.Inbox)
	}
}
