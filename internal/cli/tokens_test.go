package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// tokensCLI runs `dormouse tokens` on a file of its own.
func tokensCLI(t *testing.T, file string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	exit = Main(t.Context(), append(append([]string{"tokens"}, args...), "--file", file), strings.NewReader(""), &out, &errs,
		cmdline.Options{Getenv: func(string) string { return "" }})
	return exit, out.String(), errs.String()
}

func TestATokenIsPrintedOnceAndOnlyItsHashIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	exit, out, errs := tokensCLI(t, file, "add", "ci", "--tenant", "acme", "--roles", "start,read")
	token := strings.TrimSpace(out)
	if exit != cmdline.ExitOK || !strings.HasPrefix(token, "dmt_") {
		t.Fatal(exit, out, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), token) {
		t.Fatalf("%v, the file holds %q", err, text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	keys, err := access.Parse(file, text)
	if p, ok := keys.Find(token); err != nil || !ok || p.Tenant != "acme" || !p.May(access.Read) || p.May(access.Decide) {
		t.Error(p, ok, err)
	}
	if _, out, _ := tokensCLI(t, file, "list"); !strings.Contains(out, "ci") || strings.Contains(out, "sha256") {
		t.Error(out)
	}
}

func TestTokensAreAddedAndRemovedWithoutTouchingTheRest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("# ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ci", "ci2"} {
		if exit, out, errs := tokensCLI(t, file, "add", name, "--roles", "read", "--json"); exit != cmdline.ExitOK || !json.Valid([]byte(out)) {
			t.Fatal(exit, out, errs)
		}
	}
	if exit, _, errs := tokensCLI(t, file, "remove", "ci"); exit != cmdline.ExitOK {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), "# ours\nci2 default read sha256:") || strings.Contains(string(text), "\nci ") {
		t.Errorf("%v %s", err, text)
	}
}

func TestWrongTokenCommandsChangeNothingAndSayWhatToDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	before := access.Grant{Principal: access.Principal{Name: "ci", Tenant: "default", Roles: []access.Role{access.Read}}}.Line() + "\n"
	for want, args := range map[string][]string{
		"remove it first":                 {"add", "ci", "--roles", "read"},
		"no role is given":                {"add", "bot"},
		`"drive" is not a role`:           {"add", "bot", "--roles", "read,drive"},
		`"A/B" is not a valid tenant`:     {"add", "bot", "--roles", "read", "--tenant", "A/B"},
		"see: dormouse tokens list":       {"remove", "bot"},
		`"a b" is not a valid token name`: {"add", "a b", "--roles", "read"},
		"the command takes one argument,": {"add"},
	} {
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		exit, out, errs := tokensCLI(t, file, args...)
		if text, err := os.ReadFile(file); exit != cmdline.ExitUsage || out != "" || err != nil || string(text) != before {
			t.Errorf("%v: exit %d, %q, the file is %q", args, exit, out, text)
		}
		if want != "the command takes one argument," && !strings.Contains(errs, want) {
			t.Errorf("%v: %s", args, errs)
		}
	}
}
