package commands_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/proof/commands"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

func TestTortureRefusesWhatDoesNotGoTogether(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "http://127.0.0.1:1"
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"kills of a server that is not its own": {[]string{"--url", url, "--agent", "a", "--kills", "3"},
			"--kills is about a server that this command starts"},
		"a server and nothing to run":      {[]string{"--url", url}, "say with --agent what to run"},
		"a time without a server":          {[]string{"--for", "3s"}, "--for goes with --url"},
		"no kills":                         {[]string{"--kills", "0"}, "--kills is 0; it must be at least 1"},
		"no callers":                       {[]string{"--callers", "0"}, "--callers is 0; it must be at least 1"},
		"no time to live":                  {[]string{"--every", "0s"}, "times above 0"},
		"a directory with something in it": {[]string{"--dir", full}, "is not empty"},
	} {
		t.Run(name, func(t *testing.T) {
			exit, _, stderr := said(t, append([]string{"torture"}, tt.args...)...)
			if exit != cmdline.ExitUsage || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit %d, %q", exit, stderr)
			}
		})
	}
}

func TestTortureOfNobodyIsUnreachable(t *testing.T) {
	exit, _, stderr := said(t, "torture", "--url", "http://127.0.0.1:1", "--agent", "a", "--for", "1ms")
	if exit != cmdline.ExitUnreachable {
		t.Errorf("exit %d, %q", exit, stderr)
	}
}

// forgetful acknowledges every start, and knows of none.
func forgetful(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/healthz":
		_, _ = io.WriteString(w, `{"status":"ok"}`)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/runs":
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"id":"run_a_0","thread_id":"thr_a","status":"created"}`)
	default:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"status":404,"code":"run_not_found"}`)
	}
}

func TestABrokenPromiseHasAnExitCodeOfItsOwn(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(forgetful))
	t.Cleanup(s.Close)
	exit, stdout, stderr := said(t, "torture", "--url", s.URL, "--agent", "a", "--for", "1ms", "--callers", "1", "--seed", "7")
	if exit != cmdline.ExitBroken || !strings.Contains(stderr, "promises were broken (seed 7)") {
		t.Errorf("exit %d, %q", exit, stderr)
	}
	for _, want := range []string{"an acknowledged start is there", "caller 1", "answered with run run_a_0", "violations"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
}

func TestTortureWritesAgentsForAServerOfSomebodyElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agents")
	exit, stdout, stderr := said(t, "torture", "--agents-to", dir, "--service", "http://127.0.0.1:9000")
	if exit != cmdline.ExitOK || !strings.Contains(stdout, "7 agents written") {
		t.Fatalf("exit %d\n%s%s", exit, stdout, stderr)
	}
	if exit, stdout := checks(t, dir); exit != cmdline.ExitOK || !strings.Contains(stdout, "--allow-private-hosts 127.0.0.1:9000") {
		t.Errorf("exit %d\n%s", exit, stdout)
	}
	for want, args := range map[string][]string{
		"--service needs --agents-to":         {"--service", "http://127.0.0.1:9000"},
		"remove --kills":                      {"--agents-to", dir, "--kills", "3"},
		"is not the address of a service":     {"--agents-to", dir, "--service", "nowhere"},
		"--own goes with --url":               {"--own"},
		"leave --agent and --input out":       {"--url", "http://127.0.0.1:1", "--own", "--agent", "a"},
		"the server has the agents of --agen": {"--url", "http://127.0.0.1:1"},
	} {
		if exit, _, stderr := said(t, append([]string{"torture"}, args...)...); exit != cmdline.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, %q, want %q", args, exit, stderr, want)
		}
	}
}

func TestAServerOfSomebodyElseIsHeldToItsWord(t *testing.T) {
	url := serving(t)
	exit, stdout, stderr := said(t, "torture", "--url", url, "--agent", "asks", "--for", "300ms", "--callers", "4", "--json")
	var report torture.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || exit != cmdline.ExitOK {
		t.Fatalf("exit %d, %v\n%s%s", exit, err, stdout, stderr)
	}
	if !report.Held || report.Runs == 0 || report.Decisions == 0 || report.Kills != 0 {
		t.Errorf("nothing was proved: %s", stdout)
	}
}

func TestAnInterruptedTortureSaysSo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, errs strings.Builder
	exit := commands.Main(ctx, []string{"torture", "--url", "http://127.0.0.1:1", "--agent", "a"}, strings.NewReader(""), &out, &errs, cmdline.Options{})
	if exit != cmdline.ExitFailed || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit %d, %q", exit, errs.String())
	}
}

func TestTortureSaysHowItIsRepeated(t *testing.T) {
	url := serving(t)
	exit, stdout, stderr := said(t, "torture", "--url", url, "--agent", "asks", "--for", "100ms", "--callers", "2", "--seed", "7")
	if exit != cmdline.ExitOK || !strings.HasSuffix(stdout, "--seed 7\n") {
		t.Errorf("exit %d, %q, %q", exit, stdout, stderr)
	}
	exit, _, stderr = said(t, "torture", "--url", url, "--agent", "asks,dsk", "--for", "1ms")
	if exit != cmdline.ExitUsage || !strings.Contains(stderr, `agent "dsk" doesn't exist; the server has: asks`) {
		t.Errorf("exit %d, %q", exit, stderr)
	}
}

// serving is the address of a real server with an agent that asks before it pays.
func serving(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "asks.yaml"), []byte(`
model:
  provider: scripted
  turns:
    - given: {no_result: true}
      calls:
        - {tool: pay, arguments: {amount: 5}}
        - {tool: pay, arguments: {amount: 50}}
    - say: Done.
tools:
  - {name: pay, recorded: [{result: paid}], parameters: {type: object}}
permissions:
  ask: [pay]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return servingDir(t, dir)
}
