package frontend_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func edited(arguments string) wire.Decision {
	return wire.Decision{Action: "resume", Arguments: []byte(arguments)}
}

func TestEditedArguments(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)
	var checked []string
	x.check = func(call core.ToolCall) error {
		checked = append(checked, call.ID+" "+call.Name+" "+string(call.Arguments))
		if strings.Contains(string(call.Arguments), "amount") {
			return nil
		}
		return errors.New("amount is missing")
	}
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "HB28 no object", run.ID, sus, edited(`["A-17"]`), "invalid_arguments")
		x.decides(t, "HB28 beside a no", run.ID, sus, wire.Decision{Action: "cancel", Arguments: []byte(`{"amount":5}`)}, "contradictory")
		_, err := x.decide(run.ID, sus, edited(`{"order":"A-17"}`))
		if e := x.wantCode(err, refusal.CodeInvalidArguments); e.Detail != "amount is missing" {
			t.Errorf("HB28 detail %q", e.Detail)
		}
	})
	x.unchanged(run.ThreadID, func() {
		for name, ambiguous := range map[string]string{"names that differ by case": `{"amount":1,"AMOUNT":9}`, "a name twice": `{"amount":1,"amount":9}`,
			"half a character": `{"amount":"\ud800"}`, "too deep": `{"amount":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`} {
			x.decides(t, name, run.ID, sus, edited(ambiguous), "invalid_arguments")
		}
		for name, result := range map[string]string{"half a character": `"Ann\ud800"`, "a name twice": `{"a":1,"a":2}`, "too deep": strings.Repeat("[", 300) + strings.Repeat("]", 300)} {
			x.decides(t, "a result with "+name, run.ID, sus, wire.Decision{Action: "resume", Result: []byte(result)}, "invalid_request")
		}
	})
	written := `{"amount": 5.10, "order": "A-17"}`
	x.decides(t, "HB28 arguments that fit", run.ID, sus, edited(written), "accepted")
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "C124 the same, written otherwise", run.ID, sus, edited(`{"order":"A-17","amount":5.10}`), "same")
		x.decides(t, "C124 other arguments", run.ID, sus, edited(`{"amount":6}`), "already_decided")
		x.decides(t, "C124 none", run.ID, sus, yes, "already_decided")
	})
	if len(checked) == 0 || checked[len(checked)-1] != `c1 refund {"amount":6}` {
		t.Errorf("checked %q", checked)
	}
	var r core.Resume
	if err := json.Unmarshal(x.head(run.ThreadID).Inbox[sus].Value, &r); err != nil || string(r.Arguments) != `{"amount":5.10,"order":"A-17"}` {
		t.Errorf("stored %s, %v", r.Arguments, err)
	}
}

func TestEditedArgumentsOfCallsThatHaveNoUseForThem(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Suspend(run.ID,
		frontendtest.Call{ID: "answer", Tool: "refund", Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult},
		frontendtest.Call{ID: "client", Tool: "camera", Kind: core.KindClient},
		frontendtest.Call{ID: "lost", Tool: "refund", Kind: core.KindUnknownOutcome},
		frontendtest.Call{ID: "passed", Tool: "refund", Kind: core.KindApproval, Mode: core.PassDecisionToTool})
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "HB28 the decision is the result", run.ID, "answer", edited(`{}`), "wrong_kind")
		x.decides(t, "HB28 the caller runs it", run.ID, "client", wire.Decision{Result: []byte(`1`), Arguments: []byte(`{}`)}, "wrong_kind")
		x.decides(t, "HB28 it may have run", run.ID, "lost", edited(`{}`), "wrong_kind")
	})
	x.decides(t, "HB28 the tool gets both", run.ID, "passed", edited(`{}`), "accepted")
}

func TestArgumentsThatCannotBeCheckedNow(t *testing.T) {
	x := newFixture(t, nil)
	run, sus := x.waiting(core.KindApproval)
	x.check = func(core.ToolCall) error { return fmt.Errorf("reading the agent: %w", engine.ErrUnavailable) }
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "HB25", run.ID, sus, edited(`{}`), "unavailable")
	})
	x.check = nil
	x.decides(t, "HB25 the same again", run.ID, sus, edited(`{}`), "accepted")
}

func TestGrants(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval},
		frontendtest.Call{ID: "c2", Tool: "camera", Kind: core.KindClient})
	granted := wire.Decision{Action: "resume", Grant: "run"}
	x.unchanged(run.ThreadID, func() {
		x.decides(t, "a grant that is none", run.ID, sus["c1"], wire.Decision{Action: "resume", Grant: "thread"}, "bad_grant")
		x.decides(t, "a grant with a no", run.ID, sus["c1"], wire.Decision{Action: "cancel", Grant: "run"}, "contradictory")
		x.decides(t, "a grant for a client call", run.ID, sus["c2"], wire.Decision{Result: []byte(`1`), Grant: "run"}, "wrong_kind")
	})
	x.decides(t, "a grant", run.ID, sus["c1"], granted, "accepted")
	x.decides(t, "C124 without it, it is another decision", run.ID, sus["c1"], yes, "already_decided")
	var r core.Resume
	if err := json.Unmarshal(x.head(run.ThreadID).Inbox[sus["c1"]].Value, &r); err != nil || r.Grant != core.GrantRun {
		t.Errorf("stored %+v, %v", r, err)
	}
}

func TestAStartMayTakeAway(t *testing.T) {
	x := newFixture(t, nil)
	x.narrow = func(raw json.RawMessage) error {
		if strings.Contains(string(raw), "colour") {
			return errors.New(`"colour" is not known here`)
		}
		return nil
	}
	start := func(permissions string, memory *bool) (frontend.Started, error) {
		return x.Start(t.Context(), anna, "k", wire.StartRequest{Agent: "desk", Input: core.Encode("x"), Permissions: []byte(permissions), Memory: memory})
	}
	for name, permissions := range map[string]string{
		"what it does not know": `{"colour":["refund"]}`,
		"too much":              `{"deny":["` + strings.Repeat("x", 1020) + `"]}`,
	} {
		_, err := start(permissions, nil)
		if e := x.wantCode(err, refusal.CodeInvalidPermissions); e.Detail == "" {
			t.Errorf("%s: no detail", name)
		}
	}
	no := false
	s, err := start(`{ "deny": ["refund"] }`, &no)
	if err != nil {
		t.Fatal(err)
	}
	if h := x.head(s.Run.ThreadID); string(h.Narrow) != `{"deny":["refund"]}` || !h.NoMemory {
		t.Errorf("head %s, %v", h.Narrow, h.NoMemory)
	}
	if again, err := start(`{"deny":["refund"]}`, &no); err != nil || again.New {
		t.Errorf("C124 the same again: %+v, %v", again, err)
	}
	_, err = start(`{"deny":[]}`, &no)
	x.wantCode(err, refusal.CodeIdempotencyMismatch)

	plain := x.start()
	if h := x.head(plain.ThreadID); h.Narrow != nil || h.NoMemory {
		t.Errorf("a plain start: %s, %v", h.Narrow, h.NoMemory)
	}
}
