package commands_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/proof/replay"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// gatedTalk has a call that a person is asked about, one that a server never runs is in listTalk.
const (
	gatedTalk = `{"id":"t2","messages":[{"role":"user","content":"pay"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"pay","arguments":"{\"n\":1}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"paid"},{"role":"assistant","content":"done"}]}` + "\n"
	listTalk = `{"id":"t3","messages":[{"role":"user","content":"pay"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"pay","arguments":"[1]"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"paid"}]}` + "\n"
)

// servingDir starts a server on a directory of agents.
func servingDir(t *testing.T, dir string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Agents: dir, Tools: tool.NewRegistry(nil), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + server.Addr()
}

func TestReplayAgainstAServer(t *testing.T) {
	file, dir := recorded(t, talk+gatedTalk+listTalk), filepath.Join(t.TempDir(), "played")
	out := prove(t, "replay", file, "--gate", "pay", "--agents-to", dir)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "2 agents written to "+dir, "dormouse dev --agents "+dir)
	contains(t, out.stderr, "t3 (line 3)", "no JSON object")
	url := servingDir(t, dir)

	out = prove(t, "replay", file, "--gate", "pay", "--target", url, "--target-faults", "0.3", "--json")
	out.wantExit(t, cmdline.ExitOK)
	var report replay.Report
	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil || report.Conversations != 2 || report.Decisions != 1 || len(report.Unplayed) != 1 {
		t.Errorf("%v, report %s", err, out.stdout)
	}
	out = prove(t, "replay", file, "--gate", "pay", "--target", url)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "conversations not played", "not played: t3 (line 3)", "mismatches")

	out = prove(t, "replay", file, "--target", url) // the gate is forgotten
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "1 deviations", "1 more not played")
	out = prove(t, "replay", recorded(t, strings.ReplaceAll(gatedTalk, "done", "gone")), "--gate", "pay", "--target", url)
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, "the server has not got 1 of the 1 agents", "--agents-to")
	out = prove(t, "replay", recorded(t, listTalk), "--target", url)
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "nothing was played")
}
