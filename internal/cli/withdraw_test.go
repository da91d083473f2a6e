package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestAHeldDecisionSaysHowToTakeItBack(t *testing.T) {
	at := wire.Time{Time: time.Date(2026, 3, 1, 12, 0, 8, 0, time.UTC)}
	for id, printed := range map[string]string{"dec_9b1d44": "dec_9b1d44", "it's $1": `'it'\''s $1'`} {
		s := newServer(t, map[string]http.HandlerFunc{decisions: answer(202,
			wire.DecisionAnswer{Status: 202, Code: "accepted", Target: "sus_1_a", DecisionID: id, AppliesAt: &at})})
		out := dormouse(t, s, "decide", runID, "sus_1_a", "--approve", "--hold", "8s")
		out.wantExit(t, cmdline.ExitOK)
		var sent wire.Decision
		if err := json.Unmarshal(s.last("POST").body, &sent); err != nil || sent.Hold != 8 {
			t.Errorf("sent %s, %v", s.last("POST").body, err)
		}
		contains(t, squeezed(out.stdout), "accepted: sus_1_a\n", "takes effect 2026-03-01 12:00:08Z\n", "withdraw dormouse withdraw sus_1_a "+printed+"\n")
		asJSON := dormouse(t, s, "decide", runID, "sus_1_a", "--approve", "--hold", "8s", "--json")
		contains(t, asJSON.stdout, `"applies_at":"2026-03-01T12:00:08`, `"decision_id":"`)
	}
	for _, hold := range []string{"-1s", "61s", "1500ms", "8"} {
		dormouse(t, nil, "decide", runID, "sus_1_a", "--approve", "--hold", hold).wantExit(t, cmdline.ExitUsage)
	}
}

func TestWithdraw(t *testing.T) {
	const withdrawal = "DELETE /v1/suspensions/sus_1_a/decisions/dec_1"
	done := answer(200, wire.DecisionAnswer{Status: 200, Code: "withdrawn", Target: "sus_1_a", DecisionID: "dec_1"})
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		exit   int
		says   string
	}{
		"in time":           {done, cmdline.ExitOK, "withdrawn: sus_1_a; the call waits for a decision again\n"},
		"too late":          {problem(409, "decision_applied", "the decision has taken effect, or is about to"), cmdline.ExitFailed, "the decision has taken effect"},
		"another caller's":  {problem(403, "not_your_decision", "another caller has made this decision"), cmdline.ExitFailed, "another caller has made this decision"},
		"no such decision":  {problem(404, "decision_not_found", "the suspension has no decision"), cmdline.ExitFailed, "the suspension has no decision"},
		"the run has ended": {problem(409, "run_done", "the run ended before the decision took effect"), cmdline.ExitFailed, "the run ended before"},
	} {
		s := newServer(t, map[string]http.HandlerFunc{withdrawal: tt.answer})
		out := dormouse(t, s, "withdraw", "sus_1_a", "dec_1")
		out.wantExit(t, tt.exit)
		contains(t, out.stdout+out.stderr, tt.says)
		asJSON := dormouse(t, s, "withdraw", "sus_1_a", "dec_1", "--json")
		if asJSON.wantExit(t, tt.exit); !json.Valid([]byte(asJSON.stdout + asJSON.stderr)) {
			t.Errorf("%s: as JSON %q", name, asJSON.stdout+asJSON.stderr)
		}
	}
	dormouse(t, nil, "withdraw", "sus_1_a").wantExit(t, cmdline.ExitUsage)
	dormouse(t, nil, "withdraw", "sus_1_a", "dec_1").wantExit(t, cmdline.ExitUnreachable)
}

// A withdrawn decision's id is spent. Of the same content the id is the same, so the CLI says which
// flag helps.
func TestDecidingAgainAfterAWithdrawalNeedsAnotherID(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{
		decisions: problem(409, "decision_withdrawn", "this decision was withdrawn; to decide once more, send another decision_id")})
	out := dormouse(t, s, "decide", runID, "sus_1_a", "--approve")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "send another decision_id with --id\n")
}

// The printed commands can be copied after a withdrawal, too.
func TestTheCommandsAfterAWithdrawalHaveAnotherID(t *testing.T) {
	for want, withdrawn := range map[string][]string{"": nil, " --id again-1": {"dec_1"}, " --id again-3": {"dec_1", "again-2"}} {
		run := wire.Run{ID: runID, Agent: "desk", Status: "waiting", Pending: []wire.Pending{{Kind: "approval", Tool: "pay",
			Suspension: wire.Suspension{ID: "sus_1_a", Withdrawn: withdrawn}}}}
		s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs/" + runID: answer(200, run)})
		out := dormouse(t, s, "runs", runID)
		contains(t, out.stdout, "dormouse decide "+runID+" sus_1_a"+want+" --approve\n", "dormouse decide "+runID+" sus_1_a"+want+" --deny --reason TEXT\n")
	}
}

// While a decision is held, the call is not among those that wait.
func TestDecideSaysThatADecisionIsHeld(t *testing.T) {
	at := wire.Time{Time: time.Date(2026, 3, 1, 12, 0, 8, 0, time.UTC)}
	held := wire.Outcome{RunID: runID, State: "answered", Decision: &client.OutcomeDecision{DecisionID: "dec_1"}, AppliesAt: &at}
	applied := wire.Outcome{RunID: runID, State: "answered", Decision: &client.OutcomeDecision{DecisionID: "dec_1"}}
	const idle = "has no call to decide; its status is running\n"
	for name, tt := range map[string]struct {
		events, suspension http.HandlerFunc
		says               string
	}{
		"held": {answer(200, json.RawMessage(`{"items":[{"type":"call.reminded","data":{}},{"type":"call.suspended","data":{"kind":"approval","suspension":{"id":"sus_1_a"}}}]}`)),
			answer(200, held), "a decision on sus_1_a is held until 2026-03-01 12:00:08Z; to take it back: dormouse withdraw sus_1_a dec_1\n"},
		"applied":     {answer(200, json.RawMessage(`{"items":[{"type":"call.suspended","data":{"kind":"approval","suspension":{"id":"sus_1_a"}}}]}`)), answer(200, applied), idle},
		"no question": {answer(200, json.RawMessage(`{"items":[]}`)), answer(200, held), idle},
		"unreadable":  {problem(403, "role_required", "it needs read"), answer(200, held), idle},
	} {
		s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs/" + runID: answer(200, wire.Run{ID: runID, Status: "running"}),
			"GET /v1/runs/" + runID + "/events": tt.events, "GET /v1/suspensions/sus_1_a": tt.suspension})
		out := dormouse(t, s, "decide", runID, "--approve")
		out.wantExit(t, cmdline.ExitFailed)
		if !strings.HasSuffix(out.stderr, tt.says) {
			t.Errorf("%s: %s", name, out.stderr)
		}
	}
}

func TestDecideWithoutTheRoleReadNeedsTheTarget(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs/" + runID: problem(403, "role_required", "it needs read or admin")})
	out := dormouse(t, s, "decide", runID, "--approve")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "it needs read or admin; use a token with this role", "; or pass TARGET, the suspension id\n")
}
