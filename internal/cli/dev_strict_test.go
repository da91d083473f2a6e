package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const needy = `
model: {provider: scripted, turns: [{say: hi}]}
tools:
  - {name: ask, http: {url: "https://shop.example/", headers: {Authorization: "Bearer {secret:SHOP}"}}, parameters: {type: object}}
permissions: {allow: [ask]}
`

func TestStrictRefusesWhatTheServerWouldLeaveOut(t *testing.T) {
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "needy.yaml"), []byte(needy), 0o600); err != nil {
		t.Fatal(err)
	}
	out := dormouse(t, nil, "dev", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", agents, "--strict")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "the secret SHOP is not set")
	out = dormouse(t, nil, "agents", "check", agents)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "note: agent needy: the secret SHOP is not set")
	out = dormouse(t, nil, "agents", "check", "--strict", agents)
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stdout, "needy.yaml:1: agent needy: the secret SHOP is not set")
}

func TestCheckMakesEveryNoteAProblemIfItIsStrict(t *testing.T) {
	agents := t.TempDir()
	for name, text := range map[string]string{"needy": needy, "endless": "model: {provider: scripted, turns: [{say: hi}]}\nstop: [{max_rounds: unlimited}]\n",
		"typo": "tolls: []\n"} {
		if err := os.WriteFile(filepath.Join(agents, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := dormouse(t, nil, "agents", "check", "--strict", agents)
	out.wantExit(t, cmdline.ExitFailed)
	// in this order
	for _, file := range []string{"endless.yaml:1:", "needy.yaml:1:", "typo.yaml:1:"} {
		_, rest, found := strings.Cut(out.stdout, file)
		if !found {
			t.Fatalf("%s is not next: %s", file, out.stdout)
		}
		out.stdout = rest
	}
	if strings.Contains(out.stdout, "note:") {
		t.Errorf("a note is left: %s", out.stdout)
	}
}

func TestDevSaysWhichAgentsAreNotServed(t *testing.T) {
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "needy.yaml"), []byte(needy), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		args, want := []string{"dev", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", agents}, "not served: needy: agent needy: the secret SHOP is not set"
		if asJSON {
			args, want = append(args, "--json"), `"needy":"agent needy: the secret SHOP is not set`
		}
		said := &stopsAt{want: "SHOP is not set", stop: stop}
		code := cli.Main(ctx, args, strings.NewReader(""), said, &strings.Builder{}, cmdline.Options{Getenv: func(string) string { return "" }})
		if code != cmdline.ExitOK || !strings.Contains(said.String(), want) {
			t.Errorf("exit %d, said %s", code, said.String())
		}
		stop()
	}
}

func TestDevSaysWhichAgentsCallMissingOnes(t *testing.T) {
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "desk.yaml"), []byte(talker+"tools: [{name: ask, agent: helper, input: '{q}'}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		args, want := []string{"dev", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", agents}, `calls fail: `+filepath.Join(agents, "desk.yaml")+`:2: this directory has no agent "helper"`
		if asJSON {
			args, want = append(args, "--json"), `"incomplete":[{"file":"`+filepath.Join(agents, "desk.yaml")+`","line":2,"problem":"this directory has no agent \"helper\""`
		}
		said := &stopsAt{want: "helper", stop: stop}
		code := cli.Main(ctx, args, strings.NewReader(""), said, &strings.Builder{}, cmdline.Options{Getenv: func(string) string { return "" }})
		if code != cmdline.ExitOK || !strings.Contains(said.String(), want) {
			t.Errorf("exit %d, said %s", code, said.String())
		}
		stop()
	}
}

func TestServeRefusesToStartIfAnAgentCallsAMissingOne(t *testing.T) {
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "desk.yaml"), []byte(talker+"tools: [{name: ask, agent: helper, input: '{q}'}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := dormouse(t, nil, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", agents)
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, `desk.yaml:2: this directory has no agent "helper"`)
	contains(t, out.stderr, "pass --strict=false")
}

// stopsAt stops the server once it has said something.
type stopsAt struct {
	said []byte
	want string
	stop func()
}

func (s *stopsAt) String() string { return string(s.said) }

func (s *stopsAt) Write(b []byte) (int, error) {
	s.said = append(s.said, b...)
	if strings.Contains(s.String(), s.want) {
		s.stop()
	}
	return len(b), nil
}
