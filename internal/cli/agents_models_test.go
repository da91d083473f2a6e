package cli_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// connected are two agents with models and tools that are elsewhere.
func connected(t *testing.T) {
	t.Helper()
	emptyFolder(t)
	put(t, "agents/claims.yaml", `model: {provider: bedrock, model: m-1}
tools:
  - {name: price, lambda: {function: price}, parameters: {type: object}}
  - {name: find, mcp: {server: wiki}, parameters: {type: object}}
servers: {wiki: {url: "http://localhost:9000/mcp", headers: {Authorization: "Bearer {secret:WIKI}"}, allow_private: true}}
`)
	put(t, "agents/desk.yaml", "model: {provider: openai, model: m-2, base_url: 'https://models.example.com/v1', api_key: MODELS}\n")
}

// TestCheckNotesWhatModelsAndServersNeed: nobody is asked, and no credentials are looked for.
func TestCheckNotesWhatModelsAndServersNeed(t *testing.T) {
	connected(t)
	o := withEnv(t, map[string]string{"DORMOUSE_SECRET_WIKI": "s3cret"}, "agents", "check")
	o.wantExit(t, cmdline.ExitOK)
	contains(t, o.stdout, "2 agents: OK\n",
		"agents/claims.yaml: note: agent claims: server wiki sets allow_private, but the operator does not allow localhost:9000; allow it with --allow-private-hosts localhost:9000\n",
		"agents/desk.yaml: note: agent desk: the secret MODELS is not set; set the environment variable DORMOUSE_SECRET_MODELS\n")
	if strings.Contains(o.stdout, "WIKI") {
		t.Errorf("a secret that is set is noted: %s", o.stdout)
	}
	put(t, "agents/desk.yaml", "model: {provider: openai, model: m-2, base_url: 'https://models.example.com/v1', api_key: sk-hunter2}\n")
	o = withEnv(t, nil, "agents", "check")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, "agents/desk.yaml:1: api_key must be the name of a secret, not the key itself; use A-Z")
	if strings.Contains(o.stdout+o.stderr, "hunter2") {
		t.Errorf("the key is repeated: %s%s", o.stdout, o.stderr)
	}
}

// TestACodeIsNotedByACheckAndNeedsMail: in a server that serves all agents or none.
func TestACodeIsNotedByACheckAndNeedsMail(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/desk.yaml", `model: {provider: scripted, turns: [{say: Done.}]}
notify: [{name: boss, on: [suspended], mail: [boss@example.com], require: code}]
`)
	const refused = "agent desk: the links of the notify target boss require a one-time code, but the server sends no mail; set --smtp and --mail-from, or remove require: code"
	o := withEnv(t, nil, "agents", "check")
	o.wantExit(t, cmdline.ExitOK)
	contains(t, o.stdout, "agents/desk.yaml: note: "+refused+"\n")
	o = withEnv(t, nil, "dev", "--strict", "--addr", "127.0.0.1:0", "--data", t.TempDir())
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stderr, refused)
}

// TestACommandIsNotedByACheckAndNeedsTheOperatorToRun: in a server, and in the tests of the agent.
func TestACommandIsNotedByACheckAndNeedsTheOperatorToRun(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/work/x", "")
	put(t, "agents/desk.yaml", `model: {provider: scripted, turns: [{given: {no_result: true}, calls: [{tool: write}]}, {say: Done.}]}
tools: [{name: write, recorded: [{result: written}]}]
permissions: {allow: [write]}
effects: [{name: tidy, tools: [write], command: [echo, tidied], workspace: work}]
`)
	put(t, "agents/tests/desk.yaml", "tests: [{name: a, steps: [{run: Hello}, {expect: {status: done, calls: [{tool: write, result: /tidied/}]}}]}]\n")
	const refused = `agent desk: the effect "tidy" runs the command echo on the server's machine, but the operator does not allow commands; ` +
		"allow them with --allow-commands, or remove the effect"
	o := withEnv(t, nil, "agents", "check")
	o.wantExit(t, cmdline.ExitOK)
	contains(t, o.stdout, "agents/desk.yaml: note: "+refused+"\n")
	for _, args := range [][]string{{"agents", "test"}, {"dev", "--strict", "--addr", "127.0.0.1:0", "--data", t.TempDir()}} {
		o = withEnv(t, nil, args...)
		o.wantExit(t, cmdline.ExitFailed)
		contains(t, o.stderr, refused)
	}
	o = withEnv(t, nil, "agents", "test", "--allow-commands")
	if o.exit != cmdline.ExitOK {
		t.Errorf("exit code %d\n%s%s", o.exit, o.stdout, o.stderr)
	}
}

// TestACheckSaysWhatAnEffectDetects: what its commands are hangs on the workspace, which the file
// does not show.
func TestACheckSaysWhatAnEffectDetects(t *testing.T) {
	emptyFolder(t)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "make"), []byte("#!/bin/sh\necho 'a.go:1: unused'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	put(t, "agents/desk.yaml", `model: {provider: scripted, turns: [{given: {no_result: true}, calls: [{tool: write}]}, {say: Done.}]}
tools: [{name: write, recorded: [{result: written}]}]
permissions: {allow: [write]}
effects: [{name: tidy, tools: [write], detect: [format, lint], workspace: work}]
`)
	put(t, "agents/tests/desk.yaml", "tests: [{name: a, steps: [{run: Hello}, {expect: {status: done, calls: [{tool: write, result: \"/lint \\\\(make -s lint\\\\):\\na.go:1: unused/\"}]}}]}]\n")
	check := func() string {
		o := withEnv(t, nil, "agents", "check")
		o.wantExit(t, cmdline.ExitOK)
		return o.stdout
	}
	const about = `agents/desk.yaml: note: the effect "tidy" `
	contains(t, check(), `agent desk: the effect "tidy" runs commands that it finds in its workspace on the server's machine, but the operator does not allow commands`,
		about+"detects commands in work, which is not a directory; it does nothing until the directory exists\n")
	put(t, "agents/work/Makefile", "lint:\n\tmake-believe\n")
	contains(t, check(), about+"currently detects in work: format: none; lint: make -s lint (Makefile)\n")
	put(t, "agents/work/Cargo.toml", "")
	contains(t, check(), about+"currently detects in work: format: cargo fmt (Cargo.toml), skipped because cargo is not installed; lint: make -s lint (Makefile)\n")
	o := withEnv(t, nil, "agents", "test", "--allow-commands")
	if o.exit != cmdline.ExitOK {
		t.Errorf("exit code %d\n%s%s", o.exit, o.stdout, o.stderr)
	}
}

// TestTestsOfAgentsAskTheEndpointTheyName: the program has the provider, and the secret comes from
// the environment of whoever started it.
func TestTestsOfAgentsAskTheEndpointTheyName(t *testing.T) {
	endpoint := httptest.NewServer(modeldouble.OpenAIQuirks{Key: "s3cret-of-models"}.Handler(func(modeldouble.Asked) modeldouble.Said {
		return modeldouble.Said{Turn: core.Turn{Text: "Good day."}, Piece: 3}
	}))
	defer endpoint.Close()
	emptyFolder(t)
	put(t, "agents/desk.yaml", "model: {provider: openai, model: m-2, base_url: '"+endpoint.URL+"/v1', api_key: MODELS}\n")
	put(t, "agents/tests/desk.yaml", "tests: [{name: a, steps: [{run: Hello}, {expect: {status: done, output: Good day.}}]}]\n")
	o := withEnv(t, map[string]string{"DORMOUSE_SECRET_MODELS": "s3cret-of-models"}, "agents", "test", "--allow-private-hosts", "127.0.0.1")
	if o.exit != cmdline.ExitOK {
		t.Errorf("exit code %d\n%s%s", o.exit, o.stdout, o.stderr)
	}
	o = withEnv(t, nil, "agents", "test")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stderr, "the secret MODELS is not set", "which is not a public address and is not allowed by the operator; allow it with --allow-private-hosts 127.0.0.1:")
	o = withEnv(t, map[string]string{"DORMOUSE_SECRET_MODELS": "another-one-here"}, "agents", "test", "--allow-private-hosts", "127.0.0.1")
	o.wantExit(t, cmdline.ExitFailed)
	if strings.Contains(o.stdout+o.stderr, "another-one-here") {
		t.Errorf("the secret is shown: %s%s", o.stdout, o.stderr)
	}
}
