package cli_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const (
	decisions = "POST /v1/runs/" + runID + "/decisions"
	readRun   = "GET /v1/runs/" + runID
)

func accepted() http.HandlerFunc {
	return answer(202, wire.DecisionAnswer{Status: 202, Code: "accepted", Target: "sus_1_a"})
}

func TestDecideSends(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want wire.Decision
	}{
		{"approve", []string{"--approve"}, wire.Decision{Action: "resume"}},
		{"deny with a reason", []string{"--deny", "--reason", "no"}, wire.Decision{Action: "cancel", Reason: "no"}},
		{"result", []string{"--result", `{"t":21}`}, wire.Decision{Result: json.RawMessage(`{"t":21}`)}},
		{"result taken as it is", []string{"--approve", "--result", "true"},
			wire.Decision{Action: "resume", Result: json.RawMessage(`true`)}},
		{"error", []string{"--error", "broken"}, wire.Decision{Error: "broken"}},
		{"HB28 edited arguments", []string{"--approve", "--arguments", `{"amount":80}`},
			wire.Decision{Action: "resume", Arguments: json.RawMessage(`{"amount":80}`)}},
		{"grant", []string{"--approve", "--grant", "run"}, wire.Decision{Action: "resume", Grant: "run"}},
		{"key", []string{"--approve", "--id", "d1"}, wire.Decision{Action: "resume", DecisionID: "d1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, map[string]http.HandlerFunc{decisions: accepted()})
			out := dormouse(t, s, append([]string{"decide", runID, "sus_1_a"}, tt.args...)...)
			out.wantExit(t, cmdline.ExitOK)
			contains(t, out.stdout, "accepted")
			var got wire.Decision
			if err := json.Unmarshal(s.last("POST").body, &got); err != nil {
				t.Fatal(err)
			}
			tt.want.Target = "sus_1_a"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideWithoutTarget(t *testing.T) {
	tests := []struct {
		name    string
		pending []string
		exit    int
		stderr  string
	}{
		{"one call waits", []string{"sus_1_a"}, cmdline.ExitOK, ""},
		{"none waits", nil, cmdline.ExitFailed, runID + " has no call to decide"},
		{"several wait", []string{"sus_1_a", "sus_1_b"}, cmdline.ExitUsage, "sus_1_b (issue_refund)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, map[string]http.HandlerFunc{
				decisions: accepted(), readRun: answer(200, run("waiting", pending(tt.pending...))),
			})
			out := dormouse(t, s, "decide", runID, "--approve")
			out.wantExit(t, tt.exit)
			contains(t, out.stderr, tt.stderr)
		})
	}
}

func TestDecideNeedsOneAnswer(t *testing.T) {
	for _, args := range [][]string{{}, {"--approve", "--deny"}, {"--approve", "--error", "x"}, {"--deny", "--result", "1"}, {"--result", "1", "--error", "x"}, {"--result", "{"},
		{"--arguments", "{}"}, {"--grant", "run"}, {"--deny", "--arguments", "{}"}, {"--result", "1", "--grant", "run"}, {"--approve", "--arguments", "{"},
		{"--approve", "--arguments", "@no/such/file"}} {
		dormouse(t, nil, append([]string{"decide", runID, "sus_1_a"}, args...)...).wantExit(t, cmdline.ExitUsage)
	}
}

func TestDecideRefused(t *testing.T) {
	no := false
	first := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(409)
		json.NewEncoder(w).Encode(wire.Problem{Status: 409, Code: "already_decided", Detail: "a different decision came first",
			DecisionExtra: &wire.DecisionExtra{Same: &no, Winner: &wire.Winner{DecisionID: "d1", Action: "cancel", Reason: "too late",
				By: "token:bob", Via: "api", At: &wire.Time{Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}}})
	}
	s := newServer(t, map[string]http.HandlerFunc{decisions: first})
	out := dormouse(t, s, "decide", runID, "sus_1_a", "--approve")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, `already denied by token:bob at 2026-03-01 12:00:00Z ("too late"), decision d1`)
}

func TestDecideTheSameAgain(t *testing.T) {
	yes := true
	s := newServer(t, map[string]http.HandlerFunc{
		decisions: answer(200, wire.DecisionAnswer{Status: 200, Code: "already_decided", Target: "sus_1_a", Same: &yes}),
	})
	out := dormouse(t, s, "decide", runID, "sus_1_a", "--approve")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "already decided in the same way")
}
