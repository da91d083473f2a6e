package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// payer is an agent that waits with two calls; its permissions are put behind it.
const payer = `
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
  - {name: look, recorded: [{result: seen}], parameters: {type: object}}
permissions:
  allow: [look]
`

const asks = payer + "  ask: [pay]\n"

// agentsDir is a directory with one file for each agent.
func agentsDir(t *testing.T, agents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range agents {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serving is a real server with one waiting run of each agent.
func serving(t *testing.T, agents map[string]string) (s *server, runs map[string]wire.Run) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	real, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Agents: agentsDir(t, agents),
		Tools: tool.NewRegistry(nil), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := real.Wait(); err != nil {
			t.Error(err)
		}
	})
	s = &server{url: "http://" + real.Addr()}
	runs = map[string]wire.Run{}
	c := client.New(s.url, client.WithRetries(0))
	for name := range agents {
		run, err := c.StartRun(ctx, wire.StartRequest{Agent: name, Input: []byte(`"go"`)}, "")
		if err != nil {
			t.Fatal(err)
		}
		if runs[name], err = c.PollRun(ctx, run.ID, 20*time.Second); err != nil || len(runs[name].Pending) != 2 {
			t.Fatalf("%s does not wait: %+v, %v", name, runs[name], err)
		}
	}
	return s, runs
}

func TestAgentsDiffSaysWhatBecomesOfWaitingRuns(t *testing.T) {
	s, runs := serving(t, map[string]string{"same": asks, "stricter": asks, "looser": asks, "smaller": asks, "gone": asks})
	out := dormouse(t, s, "agents", "diff", agentsDir(t, map[string]string{
		"same":     asks,
		"stricter": asks + "  deny:\n    - {tool: pay, when: {argument: amount, above: 10}, reason: too much}\n",
		"looser":   payer + "    \n  ask: []\n",
		"smaller":  strings.ReplaceAll(payer, "- {name: pay, recorded: [{result: paid}], parameters: {type: object}}", ""),
		"fresh":    asks,
	}))
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "would affect 2 waiting runs")
	const stays = "continues with the version it started with"
	want := map[string][]string{
		"stricter": {`pay {"amount":5}: ` + stays, `pay {"amount":50}: would be denied: too much`},
		"looser":   {`pay {"amount":5}: ` + stays, `pay {"amount":50}: ` + stays},
		"smaller":  {`pay {"amount":5}: the tool is no longer offered`, `pay {"amount":50}: the tool is no longer offered`},
		"gone":     {`pay {"amount":5}: ` + stays, `pay {"amount":50}: ` + stays},
	}
	for name, lines := range want {
		_, of, found := strings.Cut(out.stdout, "\n  "+runs[name].ID+", started with "+runs[name].AgentVersion[:19]+"\n")
		if !found {
			t.Errorf("the run of %s is not shown:\n%s", name, out.stdout)
			continue
		}
		shown := strings.SplitN(of, "\n", 3)
		for i, line := range lines {
			if !strings.HasPrefix(shown[i], "    "+line) {
				t.Errorf("%s: %q, want %q", name, shown[i], line)
			}
		}
	}
	contains(t, out.stdout, "gone: removed; new runs are refused", "fresh: new\n", "nothing was changed")
	if strings.Contains(out.stdout, runs["same"].ID) || strings.Contains(out.stdout, "same:") {
		t.Errorf("an agent that stays is shown:\n%s", out.stdout)
	}
	for name, before := range runs {
		after, err := client.New(s.url, client.WithRetries(0)).Run(t.Context(), before.ID)
		if err != nil || after.Status != "waiting" || after.UpdatedAt != before.UpdatedAt {
			t.Errorf("%s was touched: %+v, %v", name, after, err)
		}
	}
}

// difference is the part of the JSON that scripts read.
type difference struct {
	Agents []struct {
		Name, From, To string
		Runs           []struct {
			ID       string
			Affected bool
			Pending  []struct{ Tool, Becomes string }
		}
	}
	Affected int
}

func diffJSON(t *testing.T, out output) difference {
	t.Helper()
	var d difference
	if err := json.Unmarshal([]byte(out.stdout), &d); err != nil {
		t.Fatalf("%v in %s", err, out.stdout)
	}
	return d
}

func TestAgentsDiffAsJSON(t *testing.T) {
	s, runs := serving(t, map[string]string{"payer": asks})
	nothing := dormouse(t, s, "agents", "diff", agentsDir(t, map[string]string{"payer": asks}), "--json")
	nothing.wantExit(t, cmdline.ExitOK)
	if strings.TrimSpace(nothing.stdout) != `{"agents":[],"affected":0}` {
		t.Errorf("no difference is %s", nothing.stdout)
	}
	out := dormouse(t, s, "agents", "diff", agentsDir(t, map[string]string{"payer": payer + "  block: [pay]\n"}), "--json")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, `"code":"runs_affected"`)
	d := diffJSON(t, out)
	if d.Affected != 1 || len(d.Agents) != 1 || d.Agents[0].From != runs["payer"].AgentVersion || len(d.Agents[0].Runs) != 1 ||
		!d.Agents[0].Runs[0].Affected || d.Agents[0].Runs[0].Pending[1].Becomes != "denied" {
		t.Errorf("difference %+v", d)
	}
}

func TestAgentsDiffReadsEveryPage(t *testing.T) {
	page := func(next string, runs ...wire.Run) wire.Page[wire.Run] {
		return wire.Page[wire.Run]{Items: runs, Next: next}
	}
	s := newServer(t, nil)
	s.answers = map[string]http.HandlerFunc{
		"GET /v1/agents": answer(200, wire.Page[wire.Agent]{Items: []wire.Agent{{Name: "refund-desk", Version: "sha256:old"}}}),
		"GET /v1/runs":   inTurn(answer(200, page("c1", run("waiting"))), answer(200, page("c2")), answer(200, page("", run("waiting")))),
	}
	out := dormouse(t, s, "agents", "diff", agentsDir(t, nil), "--json")
	out.wantExit(t, cmdline.ExitOK)
	if d := diffJSON(t, out); len(d.Agents) != 1 || len(d.Agents[0].Runs) != 2 {
		t.Errorf("difference %+v", d)
	}
	contains(t, s.last("GET").query, "agent=refund-desk", "status=waiting", "cursor=c2")
}

func TestAgentsDiffLeavesAnswersAlone(t *testing.T) {
	dir := agentsDir(t, map[string]string{"refund-desk": asks + "  deny: [pay]\n"})
	loaded, err := agentfile.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, tool, kind, mode, version, want string }{
		{"an approval is denied", "pay", "approval", "replay_tool_call", "sha256:old", "denied"},
		{"what a client runs", "pay", "client", "use_decision_as_tool_result", "sha256:old", "unchanged"},
		{"what a client runs, and is gone", "locate", "client", "use_decision_as_tool_result", "sha256:old", "not_offered"},
		{"what a client runs, in a run of the new version", "locate", "client", "use_decision_as_tool_result", loaded[0].Digest(), "unchanged"},
		{"a run of the new version", "pay", "approval", "replay_tool_call", loaded[0].Digest(), "unchanged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			waits := run("waiting", func(r *wire.Run) {
				r.AgentVersion = tt.version
				r.Pending = []wire.Pending{{CallID: "c1", Tool: tt.tool, Arguments: []byte(`{}`), Kind: tt.kind, ResumeMode: tt.mode}}
			})
			out := dormouse(t, servingAnOlder(t, waits), "agents", "diff", dir, "--json")
			d := diffJSON(t, out)
			if got := d.Agents[0].Runs[0].Pending[0].Becomes; got != tt.want || (out.exit == cmdline.ExitFailed) != (tt.want != "unchanged") {
				t.Errorf("becomes %s, want %s; exit code %d", got, tt.want, out.exit)
			}
		})
	}
}

// servingAnOlder is a server with an older version of the refund desk, and one run.
func servingAnOlder(t *testing.T, waits wire.Run) *server {
	return newServer(t, map[string]http.HandlerFunc{
		"GET /v1/agents": answer(200, wire.Page[wire.Agent]{Items: []wire.Agent{{Name: "refund-desk", Version: "sha256:old"}}}),
		"GET /v1/runs":   answer(200, wire.Page[wire.Run]{Items: []wire.Run{waits}}),
	})
}

func TestAgentsDiffLeavesOutThatARunIsPaused(t *testing.T) {
	paused := run("waiting", func(r *wire.Run) {
		r.AgentVersion = "sha256:old"
		r.Pending = []wire.Pending{{CallID: "interrupt:1", Arguments: []byte(`{}`), Kind: "interrupt", ResumeMode: "use_decision_as_tool_result"}}
	})
	out := dormouse(t, servingAnOlder(t, paused), "agents", "diff", agentsDir(t, map[string]string{"refund-desk": asks}), "--json")
	out.wantExit(t, cmdline.ExitOK)
	if d := diffJSON(t, out); len(d.Agents[0].Runs) != 1 || len(d.Agents[0].Runs[0].Pending) != 0 {
		t.Errorf("difference %+v", d)
	}
}

func TestAgentsDiffRefusesFilesThatAreWrong(t *testing.T) {
	out := dormouse(t, nil, "agents", "diff", agentsDir(t, map[string]string{"bad": "colour: red\n"}))
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, "bad.yaml:1", "colour")
	dormouse(t, nil, "agents", "diff", "no/such/dir").wantExit(t, cmdline.ExitUsage)
	dormouse(t, nil, "agents", "diff", agentsDir(t, nil)).wantExit(t, cmdline.ExitUnreachable)
}

func TestDevRefusesAPolicyThatIsWrong(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(wrong, []byte("allow: [pay]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{wrong: "policy.yaml:1", filepath.Join(dir, "none.yaml"): "the policy file"} {
		out := dormouse(t, nil, "dev", "--addr", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--agents", agentsDir(t, nil), "--policy", file)
		out.wantExit(t, cmdline.ExitFailed)
		contains(t, out.stderr, want)
	}
}
