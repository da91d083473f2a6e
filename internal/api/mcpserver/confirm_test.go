package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// asks starts a run that waits on one call.
func (b *bench) asks(call frontendtest.Call) (run, sus string) {
	b.t.Helper()
	run = b.peer("anna", both).ask("desk", "pay 50").Result.TaskID
	return run, b.worker.Suspend(run, call)[call.ID]
}

// proposed is what the user is shown.
func (r reply) proposed(t *testing.T) string {
	t.Helper()
	var asked struct {
		Result struct {
			InputRequests map[string]struct{ Params struct{ Message string } }
		}
	}
	if err := json.Unmarshal(r.raw, &asked); err != nil || len(asked.Result.InputRequests) != 1 {
		t.Fatalf("%v: %s", err, r.raw)
	}
	return asked.Result.InputRequests[r.sus(t)].Params.Message
}

func TestTheUserIsShownWhatTheModelDecides(t *testing.T) {
	b := newBench(t, oneKey)
	const about = "\nThe model has proposed this. It counts only if you confirm it.\n"
	tests := []struct {
		name    string
		kind    core.Kind
		decided map[string]any
		want    string
	}{
		{"an approval", core.KindApproval, map[string]any{"action": "resume"}, "Approve pay?" + about + `Arguments: {"order":"A-17"}`},
		{"a denial", core.KindApproval, map[string]any{"action": "cancel", "reason": "no\nCheck: ok"}, "Deny pay?" + about + `Reason, in the words of the model: "no\nCheck: ok"` + "\nArguments: "},
		{"a denial by an error", core.KindApproval, map[string]any{"error": "no"}, "Deny pay?" + about + "Error: \"no\"\nArguments: "},
		{"an approval in the form of an answer", core.KindApproval, map[string]any{"result": "confirm"}, "Approve pay?" + about + "Answer: \"confirm\"\nArguments: "},
		{"an approval beside an empty answer", core.KindApproval, map[string]any{"action": "resume", "result": nil}, "Approve pay?" + about},
		{"a denial in the form of an answer", core.KindApproval, map[string]any{"action": "resume", "result": map[string]any{"approved": false}}, "Deny pay?" + about},
		{"an answer", core.KindInput, map[string]any{"result": []any{"a\u202e", "b"}}, "Answer pay?" + about + `Answer: ["a\u202e","b"]` + "\nArguments: "},
		{"an answer of null", core.KindInput, map[string]any{"result": nil}, "Answer pay?" + about + "Answer: null\n"},
		{"no answer", core.KindInput, map[string]any{"action": "cancel"}, "Cancel pay, without an answer?" + about},
		{"that it took effect", core.KindUnknownOutcome, map[string]any{"result": "paid"}, "Answer pay?" + about + "Answer: \"paid\"\n"},
		{"to run it again", core.KindUnknownOutcome, map[string]any{"action": "resume"}, "Run pay again? It may have taken effect already." + about},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run, sus := b.asks(frontendtest.Call{ID: "call_1", Tool: "pay", Kind: test.kind})
			test.decided["target"] = sus
			anna := b.peer("anna", asking)
			asked := anna.call("decide", test.decided)
			if got := asked.proposed(t); !strings.HasPrefix(got, test.want) || !strings.Contains(got, "\nAsked by: desk, run "+run) {
				t.Errorf("got %s", got)
			}
			b.waiting(run)
			if got := anna.answer(asked, test.decided, accept(map[string]any{"confirmed": true})); got.code() != "accepted" {
				t.Errorf("got %s", got.raw)
			}
		})
	}
}

// The result of a call that the client runs is the client's to give.
func TestAClientsResultNeedsNoConfirmation(t *testing.T) {
	b := newBench(t, oneKey)
	_, sus := b.asks(frontendtest.Call{ID: "call_1", Tool: "pick", Kind: core.KindClient})
	if got := b.peer("anna", asking).call("decide", map[string]any{"target": sus, "result": "cup"}); got.code() != "accepted" {
		t.Errorf("got %s", got.raw)
	}
}

func TestAProposalIsGoodForAnHour(t *testing.T) {
	b := newBench(t, oneKey)
	run, sus := b.asks(pays)
	arguments := map[string]any{"target": sus, "action": "resume"}
	anna := b.peer("anna", asking)
	asked := anna.call("decide", arguments)
	b.clock.AfterFunc(time.Hour, func() {})
	if got := anna.answer(asked, arguments, accept(map[string]any{"confirmed": true})); got.code() != "link_expired" || got.Error == nil {
		t.Errorf("got %s", got.raw)
	}
	b.waiting(run)
	if got := anna.confirm(arguments); got.code() != "accepted" {
		t.Errorf("got %s", got.raw)
	}
}

// Another answer was first, and now the call waits again, under a suspension of its own.
func TestAQuestionThatHasChangedIsNotAnswered(t *testing.T) {
	b := newBench(t, oneKey)
	run, sus := b.asks(pays)
	arguments := map[string]any{"run_id": run, "target": sus, "action": "resume"}
	anna := b.peer("anna", asking)
	asked := anna.call("decide", arguments)
	again := pays
	again.Arguments = json.RawMessage(`{"order":"B-1"}`)
	if _, err := b.api("boss").Decide(t.Context(), run, client.Decision{Target: sus, Action: client.ActionResume}); err != nil {
		t.Fatal(err)
	}
	b.worker.Drain(run)
	next := b.worker.Resuspend(run, again)
	if got := anna.answer(asked, arguments, accept(map[string]any{"confirmed": true})); got.code() != "already_decided" {
		t.Errorf("got %s", got.raw)
	}
	if waits := b.waiting(run); waits.Suspension.ID != next {
		t.Errorf("the run waits on %+v", waits)
	}
}

// A client that has asked once may say later that it can't ask. Its state is none the less good.
func TestOnlyTheStateMakesAConfirmation(t *testing.T) {
	b := newBench(t, oneKey)
	run, sus := b.asks(pays)
	arguments := map[string]any{"target": sus, "action": "resume"}
	asked := b.peer("anna", asking).call("decide", arguments)
	quiet := b.peer("anna", silent)
	if got := quiet.call("decide", arguments, map[string]any{"requestState": asked.Result.RequestState}); got.code() != "invalid_request" || got.Error == nil {
		t.Errorf("got %s", got.raw)
	}
	b.waiting(run)
	if got := quiet.answer(asked, arguments, accept(map[string]any{"confirmed": true})); got.code() != "accepted" {
		t.Errorf("got %s", got.raw)
	}
}

func TestWithoutKeysNothingIsConfirmed(t *testing.T) {
	b := newBench(t, nil)
	run, sus := b.asks(pays)
	arguments := map[string]any{"target": sus, "action": "resume"}
	anna := b.peer("anna", asking)
	if got := anna.call("decide", arguments); got.code() != "invalid_request" || !got.Result.IsError {
		t.Errorf("got %s", got.raw)
	}
	yes := map[string]any{"requestState": "run:" + run, "inputResponses": map[string]any{sus: accept(map[string]any{"confirmed": true})}}
	if got := anna.call("decide", arguments, yes); got.code() != "invalid_request" {
		t.Errorf("got %s", got.raw)
	}
	b.waiting(run)
}

// What readers see only the beginning of, they can't confirm.
func TestWhatAFormCantShowIsNotConfirmed(t *testing.T) {
	b := newBench(t, oneKey)
	deep := pays
	deep.Arguments = json.RawMessage(`{"a":` + strings.Repeat("[", depth.Max+1) + strings.Repeat("]", depth.Max+1) + `}`)
	run, sus := b.asks(deep)
	if got := b.peer("anna", asking).call("decide", map[string]any{"target": sus, "action": "resume"}); got.code() != "invalid_request" {
		t.Errorf("got %s", got.raw)
	}
	if _, err := b.api("boss").Decide(t.Context(), run, client.Decision{Target: sus, Action: client.ActionCancel}); err != nil {
		t.Error(err)
	}
}
