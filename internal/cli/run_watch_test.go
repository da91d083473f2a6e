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

// started are the answers of a server on which a run is started and then has come to rest.
func started(rests wire.Run) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"POST /v1/runs":                     answer(202, run("created")),
		"GET /v1/runs/" + runID:             answer(200, rests),
		"GET /v1/runs/" + runID + "/events": log("turn.started", "call.suspended"),
	}
}

func TestRunWatchEndsLikeRunWait(t *testing.T) {
	for name, tt := range map[string]struct {
		answers map[string]http.HandlerFunc
		exit    int
		says    []string
	}{
		"it waits": {started(run("waiting", pending("sus_1_a"))), cmdline.ExitOK,
			[]string{"dormouse decide " + runID + " sus_1_a --approve"}},
		"it is done":         {started(run("done", done("natural_end"))), cmdline.ExitOK, nil},
		"it is blocked":      {started(run("done", done("blocked"))), cmdline.ExitOK, nil},
		"it ended in error":  {started(run("done", done("error"))), cmdline.ExitFailed, []string{"the run failed"}},
		"it cannot be read":  {map[string]http.HandlerFunc{"POST /v1/runs": answer(202, run("created"))}, cmdline.ExitFailed, []string{"run " + runID + " was started, but: "}},
		"it is not admitted": {map[string]http.HandlerFunc{"POST /v1/runs": problem(429, "rate_limited", "too fast")}, cmdline.ExitFailed, []string{"too fast"}},
	} {
		t.Run(name, func(t *testing.T) {
			watched := dormouse(t, newServer(t, tt.answers), "run", "refund-desk", "Refund A-17", "--watch")
			watched.wantExit(t, tt.exit)
			contains(t, watched.stdout+watched.stderr, tt.says...)
			waited := dormouse(t, newServer(t, tt.answers), "run", "refund-desk", "Refund A-17", "--wait")
			if waited.exit != watched.exit {
				t.Errorf("--watch exits with %d, --wait with %d", watched.exit, waited.exit)
			}
		})
	}
	out := dormouse(t, nil, "run", "refund-desk", "Refund A-17", "--watch")
	out.wantExit(t, cmdline.ExitUnreachable)
}

func TestRunWatchShowsTheIDAndThenTheEvents(t *testing.T) {
	for _, flags := range [][]string{{"--watch"}, {"--watch", "--wait"}} {
		s := newServer(t, started(run("waiting", pending("sus_1_a"))))
		args := append([]string{"run", "refund-desk", "Refund A-17", "--key", "k1", "--metadata", `{"ticket":1}`}, flags...)
		out := dormouse(t, s, args...)
		out.wantExit(t, cmdline.ExitOK)
		rest := out.stdout
		for _, want := range []string{runID, "thr_x7", "turn.started", "call.suspended", "approval of issue_refund"} {
			_, behind, found := strings.Cut(rest, want)
			if !found {
				t.Fatalf("%q does not come next in:\n%s", want, out.stdout)
			}
			rest = behind
		}
		sent := s.last("POST")
		contains(t, string(sent.body), `"metadata":{"ticket":1}`)
		if sent.key != "k1" {
			t.Errorf("key %q", sent.key)
		}
	}
}

func TestRunWatchWithJSONIsOneEventALine(t *testing.T) {
	out := dormouse(t, newServer(t, started(run("waiting", pending("sus_1_a")))), "run", "refund-desk", "Refund A-17", "--watch", "--json")
	out.wantExit(t, cmdline.ExitOK)
	var kinds []string
	for line := range strings.Lines(out.stdout) {
		var e wire.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type == "" {
			t.Fatalf("%v: %s", err, line)
		}
		kinds = append(kinds, e.Type)
	}
	if strings.Join(kinds, " ") != "turn.started call.suspended" {
		t.Errorf("events %q", kinds)
	}
}

// One run on a real server is started, watched and recorded by one command. A second one with its
// key finds it, shows what it did, and records it.
func TestRunWatchOnAServer(t *testing.T) {
	typed, _ := serveDesk(t, strings.ReplaceAll(recordedDesk, "allow: [look], ask: [refund]", "allow: [look, refund]"))
	for i := range 2 {
		file := filepath.Join(t.TempDir(), "made.jsonl")
		out := typed("run", "desk", "Refund A-17", "--key", "k1", "--watch", "--record", file)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "run_", "run.started", "call.succeeded", "Done.", "run.status")
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "Done.") || out.stderr != "" {
			t.Errorf("time %d: the recording is %s, %v; stderr %s", i+1, text, err, out.stderr)
		}
	}
}
