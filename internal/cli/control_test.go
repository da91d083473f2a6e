package cli_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestInterrupt(t *testing.T) {
	const path = "POST /v1/runs/" + runID + "/interrupt"
	s := newServer(t, map[string]http.HandlerFunc{path: answer(202, run("running"))})
	out := dormouse(t, s, "interrupt", runID, "--key", "i1")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "accepted", "dormouse resume "+runID)
	if sent := s.last("POST"); sent.key != "i1" {
		t.Errorf("key %q", sent.key)
	}
	over := newServer(t, map[string]http.HandlerFunc{path: problem(409, "run_done", "the run is done")})
	out = dormouse(t, over, "interrupt", runID)
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "the run is done")
}

func TestResume(t *testing.T) {
	const path = "POST /v1/runs/" + runID + "/resume"
	yes := true
	s := newServer(t, map[string]http.HandlerFunc{path: inTurn(
		answer(202, wire.DecisionAnswer{Status: 202, Code: "accepted", Target: "sus_1_a"}),
		answer(200, wire.DecisionAnswer{Status: 200, Code: "already_decided", Target: "sus_1_a", Same: &yes}),
		problem(409, "not_waiting", "the run isn't interrupted, so it can't be resumed"))})
	out := dormouse(t, s, "resume", runID, "--reason", "looked at it", "--id", "d1")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "accepted: "+runID+" continues")
	contains(t, string(s.last("POST").body), `"reason":"looked at it"`, `"decision_id":"d1"`)
	out = dormouse(t, s, "resume", runID)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "already resumed")
	out = dormouse(t, s, "resume", runID, "--json")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, `"code":"not_waiting"`)
}

func TestRetry(t *testing.T) {
	const path = "POST /v1/runs/" + runID + "/retry"
	again := run("created")
	again.ID, again.RetryOf = "run_x7_9", new(runID)
	s := newServer(t, map[string]http.HandlerFunc{path: answer(202, again), "GET /v1/runs/run_x7_9": answer(200, run("done", done("error")))})
	out := dormouse(t, s, "retry", runID)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "run_x7_9")
	if sent := s.last("POST"); sent.key != "" {
		t.Errorf("key %q; the server's default is the run", sent.key)
	}
	out = dormouse(t, s, "retry", runID, "--key", "k1", "--wait")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "claimed 9 times")
	if sent := s.last("POST"); sent.key != "k1" {
		t.Errorf("key %q", sent.key)
	}
	refused := newServer(t, map[string]http.HandlerFunc{path: problem(409, "not_failed", "the run did not end in error")})
	dormouse(t, refused, "retry", runID).wantExit(t, cmdline.ExitFailed)
}

func TestAnInterruptedRunIsShownWithTheCommandsThatEndIt(t *testing.T) {
	paused := wire.Pending{CallID: "interrupt:x", Kind: "interrupt", Arguments: json.RawMessage("{}"),
		Suspension: wire.Suspension{ID: "sus_1_a", Action: "continue"}}
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, run("waiting", func(r *wire.Run) { r.Pending = append(r.Pending, paused) }))})
	out := dormouse(t, s, "runs", runID)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "a resume", "dormouse resume "+runID, "dormouse runs cancel "+runID)
}

func TestRunTakesAway(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"POST /v1/runs": answer(202, run("created"))})
	file := filepath.Join(t.TempDir(), "narrow.json")
	if err := os.WriteFile(file, []byte(`{"deny":["refund"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, permissions := range []string{`{"deny":["refund"]}`, "@" + file} {
		dormouse(t, s, "run", "desk", "hi", "--permissions", permissions, "--no-memory").wantExit(t, cmdline.ExitOK)
		want := `{"agent":"desk","input":"hi","permissions":{"deny":["refund"]},"memory":false}`
		if got := string(s.last("POST").body); got != want {
			t.Errorf("sent %s", got)
		}
	}
	dormouse(t, s, "run", "desk", "hi").wantExit(t, cmdline.ExitOK)
	if got := string(s.last("POST").body); got != `{"agent":"desk","input":"hi"}` {
		t.Errorf("sent %s", got)
	}
	for _, permissions := range []string{"{", "@" + file + ".gone", "@" + root + "/LICENSE"} {
		out := dormouse(t, s, "run", "desk", "hi", "--permissions", permissions)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, "--permissions")
	}
}

func TestTheOutputIsShownAsText(t *testing.T) {
	for output, want := range map[string]string{`"two words"`: "two words", `{"a":1}`: `{"a":1}`, `7`: "7"} {
		s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, run("done", done("natural_end"), func(r *wire.Run) { r.Output = json.RawMessage(output) }))})
		contains(t, dormouse(t, s, "runs", runID).stdout, "output   "+want+"\n")
	}
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, run("running"))})
	if out := dormouse(t, s, "runs", runID); strings.Contains(out.stdout, "output") {
		t.Errorf("an output is shown where there is none:\n%s", out.stdout)
	}
}

// answersOfControl are those of a server that does what it is asked to.
func answersOfControl() map[string]http.HandlerFunc {
	const path = "POST /v1/runs/" + runID
	again := run("created")
	again.ID, again.RetryOf = "run_x7_9", new(runID)
	return map[string]http.HandlerFunc{path + "/interrupt": answer(202, run("running")), path + "/retry": answer(202, again),
		path + "/resume": answer(202, wire.DecisionAnswer{Status: 202, Code: "accepted", Target: "sus_1_a"}), path + "/cancel": answer(202, run("running"))}
}
