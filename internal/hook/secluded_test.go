package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

const planted = "planted-secret-0123456789-0123456789-abc"

// hiding is an effect that runs a command, and what it must not say.
func hiding(t *testing.T, command ...string) hook.Spec {
	t.Helper()
	return hook.Spec{Follows: writes, Clock: newClock(), Workspace: workspace(t), Command: command,
		Hidden: func() secret.Values { return secret.Values{"TOKEN": planted} }}
}

func TestACommandHasNoEnvironmentButPathAndHome(t *testing.T) {
	t.Setenv("DORMOUSE_SECRET_TOKEN", planted)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	got, err := after(t, hiding(t, "env"), "write_file", core.Outcome{})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(got) {
		if name, _, _ := strings.Cut(line, "="); name != "PATH" && name != "HOME" {
			t.Errorf("the command is given %s", line)
		}
	}
	if !strings.Contains(got, "PATH=") {
		t.Errorf("%q", got)
	}
}

// An environment of a command that holds nothing must not be taken for none, in whose place the
// command would be given that of this process.
func TestACommandHasNoEnvironmentWherePathAndHomeAreNotSet(t *testing.T) {
	env, err := exec.LookPath("env")
	if err != nil {
		t.Skip(err)
	}
	s := hiding(t, env)
	t.Setenv("DORMOUSE_SECRET_TOKEN", planted)
	for _, name := range []string{"PATH", "HOME"} {
		t.Setenv(name, "") // so that it is put back
		os.Unsetenv(name)
	}
	if got, err := after(t, s, "write_file", core.Outcome{}); err != nil || got != "" {
		t.Errorf("the command is given %q, %v", got, err)
	}
}

func TestNoSecretIsInWhatAnEffectSays(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(planted), 0o600); err != nil {
		t.Fatal(err)
	}
	program := hiding(t, "cat", filepath.Join(dir, "key"))
	function := hiding(t)
	function.Func = func(context.Context, hook.EffectRequest) (string, error) { return "I have " + planted, nil }
	for name, s := range map[string]hook.Spec{"a command": program, "to the second output": hiding(t, "sh", "-c", "cat "+filepath.Join(dir, "key")+" >&2; exit 1"),
		"a Go function": function} {
		got, err := after(t, s, "write_file", core.Outcome{})
		if err != nil || !strings.Contains(got, "[secret TOKEN]") || strings.Contains(got, "planted") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestAnOutputThatIsCutInTheMiddleOfASecretShowsNoPartOfIt: the names are shorter than the values,
// so that the place of the cut is among what is shown.
func TestAnOutputThatIsCutInTheMiddleOfASecretShowsNoPartOfIt(t *testing.T) {
	got, err := after(t, hiding(t, "sh", "-c", "i=0; while [ $i -lt 600 ]; do printf %s "+planted+"; i=$((i+1)); done"), "write_file", core.Outcome{})
	if rest := strings.ReplaceAll(got, "[secret TOKEN]", ""); err != nil || rest != "" || got == "" {
		t.Errorf("%q is left, %v", rest, err)
	}
}

func TestNoSecretIsInTheErrorOfAnEffect(t *testing.T) {
	failing := hiding(t)
	failing.Func = func(context.Context, hook.EffectRequest) (string, error) {
		return "", errors.New("refused with " + planted)
	}
	outside := hiding(t, "echo")
	outside.Files = func(json.RawMessage) []string { return []string{"../" + planted} }
	for name, s := range map[string]hook.Spec{"a Go function": failing, "a path": outside} {
		if _, err := after(t, s, "write_file", core.Outcome{}); err == nil || strings.Contains(err.Error(), planted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
