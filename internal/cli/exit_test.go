package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestExitCodes(t *testing.T) {
	tests := []struct {
		name    string
		answers map[string]http.HandlerFunc // nil: nobody listens
		args    []string
		exit    int
		stderr  string
	}{
		{"version needs no server", nil, []string{"version"}, cmdline.ExitOK, ""},
		{"help needs no server", nil, []string{"help", "exit-codes"}, cmdline.ExitOK, ""},
		{"no command shows the help", nil, nil, cmdline.ExitOK, ""},
		{"unknown command", nil, []string{"sleep"}, cmdline.ExitUsage, "unknown command"},
		{"unknown flag", nil, []string{"runs", "--colour"}, cmdline.ExitUsage, "unknown flag"},
		{"missing argument", nil, []string{"run", "refund-desk"}, cmdline.ExitUsage, "usage: dormouse run AGENT INPUT"},
		{"help for nothing", nil, []string{"help", "sleep"}, cmdline.ExitUsage, `unknown help topic "sleep"`},
		{"a limit of nothing", nil, []string{"runs", "--limit", "0"}, cmdline.ExitUsage, "--limit is 0; it must be at least 1"},
		{"no workers", nil, []string{"dev", "--workers", "0"}, cmdline.ExitUsage, "--workers is 0; it must be at least 1"},
		{"a rate that is no number", nil, []string{"dev", "--starts-per-second", "NaN"}, cmdline.ExitUsage, "--starts-per-second is NaN"},
		{"a rate without end", nil, []string{"dev", "--starts-per-second", "Inf"}, cmdline.ExitUsage, "--starts-per-second is +Inf; it must be at least 0"},
		{"a rate without beginning", nil, []string{"dev", "--starts-per-second=-Inf"}, cmdline.ExitUsage, "--starts-per-second is -Inf"},
		{"a rate below nothing", nil, []string{"dev", "--starts-per-second=-0.5"}, cmdline.ExitUsage, "--starts-per-second is -0.5"},
		{"empty input", nil, []string{"run", "refund-desk", " "}, cmdline.ExitUsage, "the input is empty; pass the user's message, or - to read it from standard input"},
		{"metadata that is no JSON", nil, []string{"run", "a", "b", "--metadata", "{"}, cmdline.ExitUsage, "--metadata is not JSON"},
		{"an address that is none", nil, []string{"runs", "--url", "localhost"}, cmdline.ExitUsage, "is not a server URL"},
		{"a token file that is not there", nil, []string{"runs", "--token-file", "no/such/file"}, cmdline.ExitUsage, "token file"},
		{"nobody listens", nil, []string{"runs"}, cmdline.ExitUnreachable, "start one with: dormouse dev"},
		{"the server refuses", map[string]http.HandlerFunc{}, []string{"runs", runID}, cmdline.ExitFailed, "doesn't exist; to list runs"},
		{"a value that the server does not take", map[string]http.HandlerFunc{"GET /v1/runs": problem(400, "invalid_request", "status is none")},
			[]string{"runs", "--status", "foo"}, cmdline.ExitUsage, "status is none"},
		{"a grant that is none", map[string]http.HandlerFunc{decisions: problem(400, "bad_grant", "grant must be run or omitted")},
			[]string{"decide", runID, "sus_1_a", "--approve", "--grant", "all"}, cmdline.ExitUsage, "grant must be run"},
		{"a decision that does not suit its call", map[string]http.HandlerFunc{decisions: problem(400, "wrong_kind", "the call waits for a result")},
			[]string{"decide", runID, "sus_1_a", "--approve"}, cmdline.ExitFailed, "waits for a result"},
		{"the run ended as blocked", map[string]http.HandlerFunc{
			"POST /v1/runs":         answer(202, run("created")),
			"GET /v1/runs/" + runID: answer(200, run("done", done("blocked"))),
		}, []string{"run", "a", "b", "--wait"}, cmdline.ExitOK, ""},
		{"no token where one is needed", map[string]http.HandlerFunc{"GET /v1/runs": problem(401, "unauthorized", "no token")},
			[]string{"runs"}, cmdline.ExitFailed, "$DORMOUSE_TOKEN"},
		{"the run ended in error", map[string]http.HandlerFunc{
			"POST /v1/runs":         answer(202, run("created")),
			"GET /v1/runs/" + runID: answer(200, run("done", done("error"))),
		}, []string{"run", "a", "b", "--wait"}, cmdline.ExitFailed, "claimed 9 times"},
		{"showing a run that ended in error", map[string]http.HandlerFunc{
			"GET /v1/runs/" + runID: answer(200, run("done", done("error"))),
		}, []string{"runs", runID}, cmdline.ExitOK, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s *server
			if tt.answers != nil {
				s = newServer(t, tt.answers)
			}
			out := dormouse(t, s, tt.args...)
			out.wantExit(t, tt.exit)
			contains(t, out.stderr, tt.stderr)
			if tt.stderr != "" && strings.Count(out.stderr, "\n") != 1 {
				t.Errorf("the error is not one line: %q", out.stderr)
			}
		})
	}
}

func TestErrorsAsJSON(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code string
	}{
		{"wrong usage", []string{"decide", "--json"}, "usage"},
		{"wrong flag", []string{"decide", "--colour", "--json"}, "usage"},
		{"nobody listens", []string{"runs", "--json"}, "unreachable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := dormouse(t, nil, tt.args...)
			var got struct {
				Error struct{ Code, Detail string }
			}
			if err := json.Unmarshal([]byte(out.stderr), &got); err != nil {
				t.Fatalf("stderr is not JSON: %v: %s", err, out.stderr)
			}
			if got.Error.Code != tt.code || got.Error.Detail == "" {
				t.Errorf("got %+v, want code %q with a detail", got.Error, tt.code)
			}
			if out.stdout != "" {
				t.Errorf("stdout should be empty: %q", out.stdout)
			}
		})
	}
}

func TestEveryVerbHasAnExample(t *testing.T) {
	for _, verb := range []string{"approvals", "decide", "dev", "messages", "run", "runs", "runs cancel", "version", "watch", "interrupt", "resume", "retry"} {
		out := dormouse(t, nil, append(strings.Fields(verb), "--help")...)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "Examples:\n  dormouse "+verb)
	}
}

func TestDevThatCannotStart(t *testing.T) {
	taken := newServer(t, nil)
	tests := []struct {
		name   string
		args   []string
		exit   int
		stderr string
	}{
		{"an address that others reach, without tokens", []string{"--addr", "0.0.0.0:0"}, cmdline.ExitUsage, "--tokens"},
		{"no directory of agents", []string{"--addr", "127.0.0.1:0", "--agents", "no/such/directory"}, cmdline.ExitFailed, "the directory no/such/directory doesn't exist; create it with: dormouse new NAME --dir no/such/directory"},
		{"an address that is taken", []string{"--addr", strings.TrimPrefix(taken.url, "http://"), "--agents", t.TempDir()},
			cmdline.ExitFailed, "address " + strings.TrimPrefix(taken.url, "http://")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			out := dormouse(t, nil, append([]string{"dev", "--data", data}, tt.args...)...)
			out.wantExit(t, tt.exit)
			contains(t, out.stderr, tt.stderr)
			if _, err := os.Stat(data); err == nil {
				t.Error("it left a data directory")
			}
		})
	}
}

func TestDevServesUntilItIsToldToStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stdout, ready := io.Pipe()
	exit := make(chan int, 1)
	go func() {
		exit <- cli.Main(ctx, []string{"dev", "--json", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", t.TempDir()},
			strings.NewReader(""), ready, io.Discard, cmdline.Options{})
		ready.Close()
	}()
	var said struct{ URL string }
	if err := json.NewDecoder(stdout).Decode(&said); err != nil {
		t.Fatal(err)
	}
	dormouse(t, nil, "runs", "--url", said.URL).wantExit(t, cmdline.ExitOK)
	stop()
	if got := <-exit; got != cmdline.ExitOK {
		t.Errorf("exit code %d", got)
	}
}
