package cli_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// severalOf are the ids of the two calls that a run waits for, and the digest of what is shown.
func severalOf(t *testing.T, s *server, pending []client.Pending) (args []string, shown string) {
	t.Helper()
	args = []string{"decide", pending[0].Suspension.ID, pending[1].Suspension.ID}
	out := dormouse(t, s, append(slices.Clone(args), "--approve", "--json")...)
	out.wantExit(t, cmdline.ExitFailed)
	var review struct {
		Items []client.Approval
		Shown string
	}
	if err := json.Unmarshal([]byte(out.stdout), &review); err != nil || len(review.Items) != 2 || review.Shown == "" {
		t.Fatalf("%s, %v", out.stdout, err)
	}
	return args, review.Shown
}

func TestSeveralCallsAreShownBeforeTheyAreDecided(t *testing.T) {
	s, runs := serving(t, map[string]string{"asks": asks})
	args, shown := severalOf(t, s, runs["asks"].Pending)
	with := func(flags ...string) output { return dormouse(t, s, append(slices.Clone(args), flags...)...) }

	review := with("--approve")
	review.wantExit(t, cmdline.ExitFailed)
	contains(t, review.stdout, `pay {"amount":5}`, `pay {"amount":50}`, args[1], args[2])
	contains(t, review.stderr, "nothing was sent", "--shown "+shown)
	dry := with("--approve", "--dry-run", "--json")
	dry.wantExit(t, cmdline.ExitOK)
	contains(t, dry.stdout, `"action":"resume"`, `"suspension":"`+args[1], `"shown":"v1:`)
	for _, other := range []string{"v1:00", runs["asks"].Pending[0].Fingerprint} {
		changed := with("--approve", "--shown", other)
		changed.wantExit(t, cmdline.ExitFailed)
		contains(t, changed.stderr, "differ from those that were shown, and nothing was sent")
	}
	if still := dormouse(t, s, "approvals"); strings.Count(still.stdout, "waits for") != 2 {
		t.Errorf("something was sent: %s", still.stdout)
	}

	held := with("--approve", "--hold", "60s", "--shown", shown)
	held.wantExit(t, cmdline.ExitOK)
	if lines := strings.Split(strings.TrimSpace(held.stdout), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "accepted: "+args[2]+", takes effect ") {
		t.Errorf("said %q", held.stdout)
	}
	// as after an answer that was lost
	again := with("--approve", "--hold", "60s", "--shown", shown)
	again.wantExit(t, cmdline.ExitOK)
	contains(t, again.stdout, "already decided in the same way: "+args[1]+", takes effect ", "withdraw "+args[2])
	other := with("--deny", "--shown", shown)
	other.wantExit(t, cmdline.ExitFailed)
	contains(t, other.stderr, args[1]+" no longer waits, and nothing was sent")

	_, undo, _ := strings.Cut(strings.Split(held.stdout, "\n")[0], "; dormouse ")
	dormouse(t, s, strings.Fields(undo)...).wantExit(t, cmdline.ExitOK)

	// the first waits again, and the second is decided
	half := with("--approve", "--shown", shown)
	half.wantExit(t, cmdline.ExitFailed)
	contains(t, half.stderr, args[2]+" is already decided in the same way, and nothing was sent")
	gone := with("--deny", "--shown", shown)
	gone.wantExit(t, cmdline.ExitFailed)
	contains(t, gone.stderr, args[2]+" no longer waits, and nothing was sent")
}

func TestEachOfSeveralCallsHasItsAnswer(t *testing.T) {
	s, runs := serving(t, map[string]string{"asks": asks})
	args, shown := severalOf(t, s, runs["asks"].Pending)
	out := dormouse(t, s, append(slices.Clone(args), "--deny", "--reason", "no", "--shown", shown, "--json")...)
	out.wantExit(t, cmdline.ExitOK)
	var got client.DecisionAnswers
	if err := json.Unmarshal([]byte(out.stdout), &got); err != nil || len(got.Answers) != 2 || got.Answers[0].Target != args[1] || got.Answers[1].Code != "accepted" {
		t.Errorf("%s, %v", out.stdout, err)
	}
}

func TestARefusedAnswerOfSeveralIsAFailure(t *testing.T) {
	asked := func(id string) client.Approval {
		return client.Approval{RunID: runID, Agent: "desk", Pending: client.Pending{Kind: "approval", Tool: "pay", Fingerprint: "v1:" + id, Suspension: client.Suspension{ID: id}}}
	}
	s := newServer(t, map[string]http.HandlerFunc{
		"GET /v1/suspensions/sus_1_a": answer(200, asked("sus_1_a")), "GET /v1/suspensions/sus_1_b": answer(200, asked("sus_1_b")),
		"POST /v1/decisions": answer(200, client.DecisionAnswers{Answers: []client.DecisionAnswer{{Status: 202, Code: "accepted", Target: "sus_1_a"},
			{Status: 409, Code: "already_decided", Target: "sus_1_b", Winner: &client.Winner{DecisionID: "d1", Action: "cancel", By: "token:bob"}}}})})
	args, shown := severalOf(t, s, []client.Pending{asked("sus_1_a").Pending, asked("sus_1_b").Pending})
	args = append(args, "--approve", "--id", "bulk-1", "--shown", shown)
	out := dormouse(t, s, args...)
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stdout, "accepted: sus_1_a\n", "refused: sus_1_b: already denied by token:bob, decision d1\n")
	contains(t, out.stderr, "1 of 2 decisions was refused")
	var sent client.Bulk
	if err := json.Unmarshal(s.last("POST").body, &sent); err != nil || sent.BulkID != "bulk-1" || sent.ShownBy != "decide/1" || sent.Questions[1] != (client.BulkQuestion{Suspension: "sus_1_b", Shown: "v1:sus_1_b"}) {
		t.Errorf("sent %+v, %v", sent, err)
	}
	asJSON := dormouse(t, s, append(args, "--json")...)
	asJSON.wantExit(t, cmdline.ExitFailed)
	contains(t, asJSON.stdout, `"sus_1_b"`)
}

func TestWhatSeveralCallsDoNotTake(t *testing.T) {
	many := []string{"decide", "--approve"}
	for range client.MostBulk + 1 {
		many = append(many, "sus_1_a")
	}
	for _, args := range [][]string{many, {"decide", "sus_1_a", "sus_1_b", "run_1_0", "--approve"}, {"decide", "sus_1_a", "sus_1_b", "--result", "1"},
		{"decide", "sus_1_a", "sus_1_b", "--approve", "--grant", "run"}, {"decide", "sus_1_a", "sus_1_b", "--approve", "--arguments", "{}"}, {"decide", "sus_1_a", "sus_1_b"}} {
		dormouse(t, nil, args...).wantExit(t, cmdline.ExitUsage)
	}
}
