package commands_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/replay"
)

// recorded writes text as a file of conversations and returns its name.
func recorded(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "talks.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const talk = `{"id":"t1","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]}` + "\n"

func TestReplayRefuses(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		stderr string
	}{
		{"neither a file nor generate", nil, "--generate N"},
		{"both a file and generate", []string{"x.jsonl", "--generate", "2"}, "name a file to replay, or"},
		{"generating less than nothing", []string{"--generate", "-1"}, "--generate N"},
		{"a file that is not there", []string{"no/such.jsonl"}, "no/such.jsonl"},
		{"an empty file", []string{recorded(t, "")}, "talks.jsonl"},
		{"a line that is not JSON", []string{recorded(t, talk+"nonsense\n")}, "talks.jsonl:2: not JSON"},
		{"a message of an unknown role", []string{recorded(t, talk+`{"messages":[{"role":"user","content":"a"},{"role":"wizard","content":"b"}]}`)},
			"talks.jsonl:2: message 2"},
		{"a rate that is none", []string{recorded(t, talk), "--faults", "1"}, "it must be at least 0 and below 1"},
		{"a rate that is no number", []string{recorded(t, talk), "--faults", "NaN"}, "it must be at least 0 and below 1"},
		{"an edit that is more than certain", []string{recorded(t, talk), "--edits", "1.5"}, "--edits, --denials and --deadlines must be between 0 and 1"},
		{"a denial that is no number", []string{recorded(t, talk), "--denials", "NaN"}, "must be between 0 and 1"},
		{"a deadline that is less than never", []string{recorded(t, talk), "--deadlines", "-0.1"}, "must be between 0 and 1"},
		{"edits of calls that nobody is asked about", []string{recorded(t, talk), "--edits", "0.5"}, "name their tools with --gate"},
		{"modes of calls that nobody is asked about", []string{recorded(t, talk), "--modes"}, "name their tools with --gate"},
		{"more than certain together", []string{recorded(t, talk), "--gate", "pay", "--edits", "0.5", "--denials", "0.4", "--deadlines", "0.2"}, "must be at most 1"},
		{"an executor that is none", []string{recorded(t, talk), "--executor", "fast"}, "use sequential or parallel"},
		{"no workers", []string{recorded(t, talk), "--workers", "0"}, "--workers is 0; it must be at least 1"},
		{"a rate on the way that is none", []string{recorded(t, talk), "--target", "http://127.0.0.1:1", "--target-faults", "1"}, "--target-faults is 1; it must be"},
		{"faults of a server elsewhere", []string{recorded(t, talk), "--target", "http://127.0.0.1:1", "--faults", "0.1"}, "use --target-faults, and kill the server yourself"},
		{"deadlines on a real clock", []string{recorded(t, talk), "--target", "http://127.0.0.1:1", "--gate", "pay", "--deadlines", "0.1"}, "uses a real clock"},
		{"modes elsewhere", []string{recorded(t, talk), "--target", "http://127.0.0.1:1", "--gate", "pay", "--modes"}, "--modes can't be combined with --target"},
		{"an executor elsewhere", []string{recorded(t, talk), "--target", "http://127.0.0.1:1", "--executor", "parallel"}, "pass it with --agents-to"},
		{"agents and a target", []string{recorded(t, talk), "--target", "http://127.0.0.1:1", "--agents-to", "x"}, "write the agents first, serve them"},
		{"agents and faults", []string{recorded(t, talk), "--agents-to", "x", "--faults", "0.1"}, "--agents-to, which plays nothing"},
		{"faults on the way to nowhere", []string{recorded(t, talk), "--target-faults", "0.1"}, "--target-faults needs --target"},
		{"nobody at once", []string{recorded(t, talk), "--target", "http://127.0.0.1:1", "--at-once", "0"}, "--at-once is 0; it must be at least 1"},
		{"an address that is none", []string{recorded(t, talk), "--target", "localhost"}, "is not a server URL"},
		{"the wire of nobody", []string{recorded(t, talk), "--through", ""}, "use bedrock or openai"},
		{"a negative limit", []string{recorded(t, talk), "--limit", "-1"}, "--limit is -1; it must be at least 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := prove(t, append([]string{"replay"}, tt.args...)...)
			out.wantExit(t, cmdline.ExitUsage)
			contains(t, out.stderr, tt.stderr)
			if out.stdout != "" || strings.Count(out.stderr, "\n") != 1 {
				t.Errorf("want one line on stderr alone: %q, %q", out.stdout, out.stderr)
			}
		})
	}
}

func TestReplayReports(t *testing.T) {
	file := recorded(t, talk)
	t.Run("for people, with the progress apart", func(t *testing.T) {
		out := prove(t, "replay", file)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "conversations", "mismatches")
		contains(t, out.stderr, "1 of 1")
		if strings.Contains(out.stdout, "1 of 1") {
			t.Errorf("the progress is on stdout:\n%s", out.stdout)
		}
	})
	t.Run("for programs, with nothing beside it", func(t *testing.T) {
		out := prove(t, "replay", file, "--json")
		out.wantExit(t, cmdline.ExitOK)
		var report replay.Report
		if err := json.Unmarshal([]byte(out.stdout), &report); err != nil || report.Conversations != 1 || report.Mismatches != 0 {
			t.Errorf("report %+v, %v", report, err)
		}
		if out.stderr != "" {
			t.Errorf("stderr %q", out.stderr)
		}
	})
}

func TestReplayWarnsOfAGateThatNoCallHas(t *testing.T) {
	file := recorded(t, `{"id":"t1","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",`+
		`"function":{"name":"pay","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"paid"},{"role":"assistant","content":"done"}]}`+"\n")
	args := []string{"replay", file, "--gate", "pay,pya", "--edits", "0.7", "--denials", "0.2", "--deadlines", "0.1"}
	out := prove(t, args...)
	out.wantExit(t, cmdline.ExitOK)
	if !strings.HasPrefix(out.stderr, "dormouse-proof: warning: --gate pya: no recorded call uses this tool\n") || strings.Contains(out.stderr, "--gate pay:") {
		t.Errorf("stderr %q", out.stderr)
	}
	out = prove(t, append(args, "--json")...)
	if out.stderr != `{"warning":{"code":"gate_unused","detail":"--gate pya: no recorded call uses this tool"}}`+"\n" {
		t.Errorf("stderr %q", out.stderr)
	}
}

func TestReplayGenerates(t *testing.T) {
	made := prove(t, "replay", "--generate", "3", "--seed", "5")
	made.wantExit(t, cmdline.ExitOK)
	conversations, err := recording.Read(bytes.NewReader([]byte(made.stdout)), "made")
	if err != nil || len(conversations) != 3 {
		t.Fatalf("%d conversations, %v", len(conversations), err)
	}
	if again := prove(t, "replay", "--generate", "3", "--seed", "5"); again.stdout != made.stdout {
		t.Error("one seed made two files")
	}
	prove(t, "replay", recorded(t, made.stdout), "--faults", "0.05", "--seed", "2").wantExit(t, cmdline.ExitOK)
}

func TestReplayDecidesOtherwise(t *testing.T) {
	made := prove(t, "replay", "--generate", "6", "--seed", "8")
	made.wantExit(t, cmdline.ExitOK)
	out := prove(t, "replay", recorded(t, made.stdout), "--gate", "refund,search,think", "--denials", "0.3", "--deadlines", "0.3",
		"--modes", "--executor", "parallel", "--faults", "0.02", "--json")
	out.wantExit(t, cmdline.ExitOK)
	var report replay.Report
	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.Denied == 0 || report.TimedOut == 0 || report.InPart == 0 || report.InFull+report.InPart != report.Conversations {
		t.Errorf("not what was asked for: %+v", report)
	}
}
