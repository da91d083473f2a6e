package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// put writes a file and the directories above it.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkWith checks with a program that has the function shop.pay, whose registration keeps a file
// in its data.
func checkWith(t *testing.T, args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	register := func(r *tool.Registry, data string) error {
		if err := os.WriteFile(filepath.Join(data, "ledger"), nil, 0o600); err != nil {
			return err
		}
		return r.Register(tool.Func("shop.pay", "Pays.", func(context.Context, tool.Call, struct{}) (any, error) { return nil, nil }))
	}
	exit := cli.Main(t.Context(), append([]string{"agents", "check"}, args...), strings.NewReader(""), &stdout, &stderr,
		cmdline.Options{Register: register, Getenv: func(string) string { return "" }})
	return output{exit, stdout.String(), stderr.String()}
}

// tree are the files of the current directory.
func tree(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		files = append(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const talker = "model: {provider: scripted, turns: [{say: hi}]}\n"

func TestCheckSaysEverythingThatIsWrongWithFileLineAndFix(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/good.yaml", talker+"tools: [{name: pay, go: shop.pay}]\nmemory: notes\n")
	put(t, "agents/names.yaml", talker+"tools:\n  - {name: pay, go: shop.pya}\nhooks:\n  - shop.watch\nmemory: note\neffects: [{name: e, tools: [pay], go: shop.log}]\n")
	put(t, "agents/script.yaml", "model: {provider: scripted, script: scripts/a.yaml}\n")
	put(t, "agents/scripts/a.yaml", "turns:\n  - sya: hi\n    say: hi\n")
	put(t, "agents/kept.yaml", "model: {provider: recorded, file: kept.jsonl}\n")
	put(t, "agents/kept.jsonl", "{\n")
	put(t, "agents/tests/good.yaml", "tests:\n  - {name: a, steps: [{run: hi}, {expect: {staus: done}}]}\n")
	put(t, "policy.yaml", "deny: [pay]\nallow: [pay]\n")
	before := tree(t)

	o := checkWith(t, "--policy", "policy.yaml", "--json")
	o.wantExit(t, cmdline.ExitFailed)
	var found struct{ Problems []agentfile.Problem }
	if err := json.Unmarshal([]byte(o.stdout), &found); err != nil {
		t.Fatal(err, o.stdout)
	}
	got := found.Problems
	for i := range got {
		// the words are those of the reader of recordings
		if strings.HasSuffix(got[i].File, "kept.yaml") {
			if got[i].Text == "" {
				t.Error("nothing is said of the recording")
			}
			got[i].Text, got[i].Fix = "", ""
		}
	}
	build := ", or build a program that registers it"
	want := []agentfile.Problem{
		{File: "agents/kept.yaml", Line: 1},
		{File: "agents/names.yaml", Line: 3, Text: `this program has no function "shop.pya"`, Fix: `did you mean "shop.pay"? name one it has (shop.pay)` + build},
		{File: "agents/names.yaml", Line: 5, Text: `this program has no hook "shop.watch"`, Fix: "remove it" + build},
		{File: "agents/names.yaml", Line: 6, Text: `this program has no memory "note"`, Fix: `did you mean "notes"? name one it has (notes)` + build},
		{File: "agents/names.yaml", Line: 7, Text: `this program has no effect "shop.log"`, Fix: "remove it" + build},
		{File: "agents/scripts/a.yaml", Line: 2, Text: `unknown field "sya" in a turn`, Fix: `did you mean "say"? it takes given, say, calls`},
		{File: "agents/tests/good.yaml", Line: 2, Text: `unknown field "staus" in expect`,
			Fix: `did you mean "status"? it takes status, reason, code, response_state, error, output, pending, calls`},
		{File: "policy.yaml", Line: 2, Text: `unknown field "allow" in a policy`, Fix: "it takes groups, approvals, block, deny, ask"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	plain := checkWith(t, "--policy", "policy.yaml")
	plain.wantExit(t, cmdline.ExitFailed)
	contains(t, plain.stdout, "agents/scripts/a.yaml:2: unknown field \"sya\" in a turn; did you mean \"say\"? it takes given, say, calls\n")
	contains(t, plain.stderr, "8 problems found")
	if diff := cmp.Diff(before, tree(t)); diff != "" {
		t.Errorf("a check changed the folder: %s", diff)
	}
}

func TestCheckNotesAnAgentThatNothingBounds(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/open.yaml", talker+"stop: [{max_rounds: unlimited}, {consecutive_errors: 3}]\n")
	put(t, "agents/usual.yaml", talker)
	put(t, "agents/tokens.yaml", talker+"stop: [{max_rounds: unlimited}, {token_budget: 50000}]\n")
	o := checkWith(t)
	o.wantExit(t, cmdline.ExitOK)
	contains(t, o.stdout, "agents/open.yaml: note: runs have no limit: max_rounds is unlimited, and there is no token_budget or timeout")
	if strings.Count(o.stdout, "note:") != 1 {
		t.Errorf("noted:\n%s", o.stdout)
	}
}

func TestCheckCountsWhatIsRight(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/a.yaml", talker)
	put(t, "agents/b.yml", talker)
	put(t, "policy.yaml", "ask: ['*']\n")
	for args, want := range map[string]string{
		"":                             "2 agents: OK\n",
		"agents/a.yaml":                "1 agent: OK\n",
		"agents agents/a.yaml":         "2 agents: OK\n",
		"--policy policy.yaml":         "2 agents: OK\n",
		"--json agents/a.yaml":         `{"notes":[],"problems":[]}` + "\n",
		"--policy policy.yaml agents/": "2 agents: OK\n",
	} {
		o := checkWith(t, strings.Fields(args)...)
		o.wantExit(t, cmdline.ExitOK)
		if o.stdout != want {
			t.Errorf("%q: %q, want %q", args, o.stdout, want)
		}
	}
}

func TestCheckWithNothingToCheckIsWrongUsage(t *testing.T) {
	emptyFolder(t)
	put(t, "empty/notes.txt", "no agent")
	put(t, "agents/a.yaml", talker)
	for _, args := range [][]string{{"nowhere"}, {"empty"}, {"--policy", "nowhere"}, {"agents/none.yaml"}} {
		o := checkWith(t, args...)
		o.wantExit(t, cmdline.ExitUsage)
		if o.stdout != "" {
			t.Errorf("%v: %q", args, o.stdout)
		}
	}
}

func TestCheckTakesTheTestsOfAFolderAndNothingElseForTests(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/a.yaml", talker)
	put(t, "agents/tests/a.yaml", "tests: [{name: a, steps: [{run: hi}, {expect: {output: hi}}]}]")
	put(t, "agents/scripts/b.yaml", "- say: hi\n")
	o := checkWith(t, "agents/tests/a.yaml")
	o.wantExit(t, cmdline.ExitOK)
	if o.stdout != "1 test: OK\n" {
		t.Error(o.stdout)
	}
	o = checkWith(t)
	o.wantExit(t, cmdline.ExitOK)
	if o.stdout != "1 agent and 1 test: OK\n" {
		t.Error(o.stdout)
	}
}

func TestCheckSaysThatTheAgentOfTestsIsNotThere(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/desk.yaml", talker)
	put(t, "agents/tests/a.yaml", "agent: dsek\ntests: [{name: a, steps: [{run: hi}, {expect: {output: hi}}]}]")
	o := checkWith(t)
	o.wantExit(t, cmdline.ExitFailed)
	if want := "agents/tests/a.yaml:1: agent \"dsek\" doesn't exist in agents; did you mean \"desk\"? name one it has (desk)\n"; o.stdout != want {
		t.Errorf("%q, want %q", o.stdout, want)
	}
}
