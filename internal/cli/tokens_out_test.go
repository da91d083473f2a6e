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

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestATokenIsWrittenToANewFileOfItsOwnerAndTheLineSaysWhere(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "tokens"), filepath.Join(dir, "anna.token")
	exit, said, errs := tokensCLI(t, file, "add", "anna", "--roles", "read", "--out", out)
	if exit != cmdline.ExitOK || said != "token anna written to "+out+" (readable only by its owner), hash added to "+file+"\n" {
		t.Fatal(exit, said, errs)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	token := content(t, out)
	keys, err := access.Parse(file, []byte(content(t, file)))
	if p, ok := keys.Find(strings.TrimSuffix(token, "\n")); err != nil || !ok || p.Name != "anna" {
		t.Errorf("%q is no token of the file: %v", token, err)
	}
	second := filepath.Join(dir, "ci.token")
	_, said, _ = tokensCLI(t, file, "add", "ci", "--roles", "read", "--out", second, "--json")
	var shown struct{ Out, Token string }
	if err := json.Unmarshal([]byte(said), &shown); err != nil || shown.Out != second || shown.Token != "" {
		t.Errorf("%v %s", err, said)
	}
}

func TestATokenNeverReplacesAFileAndARefusalLeavesNone(t *testing.T) {
	dir := t.TempDir()
	file, there, fresh := filepath.Join(dir, "tokens"), filepath.Join(dir, "there.token"), filepath.Join(dir, "fresh.token")
	if exit, _, errs := tokensCLI(t, file, "add", "anna", "--roles", "read", "--out", there); exit != cmdline.ExitOK {
		t.Fatal(errs)
	}
	link := filepath.Join(dir, "link.token")
	if err := os.Symlink(fresh, link); err != nil {
		t.Fatal(err)
	}
	hashes, token := content(t, file), content(t, there)
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"a file that is there":       {[]string{"add", "bot", "--roles", "read", "--out", there}, there + " already exists"},
		"a link to nowhere":          {[]string{"add", "bot", "--roles", "read", "--out", link}, "already exists"},
		"the file of the hashes":     {[]string{"add", "bot", "--roles", "read", "--out", file}, "already exists"},
		"a directory not there":      {[]string{"add", "bot", "--roles", "read", "--out", filepath.Join(dir, "no", "x")}, "cannot write the token"},
		"no name":                    {[]string{"add", "bot", "--roles", "read", "--out", ""}, "--out needs the name of a new file"},
		"standard output":            {[]string{"add", "bot", "--roles", "read", "--out", "-"}, "without --out, the token is printed"},
		"a token of that name":       {[]string{"add", "anna", "--roles", "read", "--out", fresh}, "remove it first"},
		"a role that is none":        {[]string{"add", "bot", "--roles", "boss", "--out", fresh}, "is not a role"},
		"a token there, a file, too": {[]string{"add", "anna", "--roles", "read", "--out", there}, "remove it first"},
	} {
		exit, out, errs := tokensCLI(t, file, tt.args...)
		if exit != cmdline.ExitUsage || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%s: exit %d, %q %q", name, exit, out, errs)
		}
		if content(t, file) != hashes || content(t, there) != token {
			t.Fatalf("%s: a file was changed", name)
		}
		if _, err := os.Lstat(fresh); !os.IsNotExist(err) {
			t.Fatalf("%s: a file was left behind: %v", name, err)
		}
	}
}

func TestATokenIsNotWrittenToAFileOfHashesThatIsNotThereYet(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Symlink(dir, "other"); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"tokens", "./tokens", filepath.Join(dir, "tokens"), "other/tokens"} {
		exit, said, errs := tokensCLI(t, "tokens", "add", "anna", "--roles", "read", "--out", out)
		if _, err := os.Lstat("tokens"); exit != cmdline.ExitUsage || !strings.Contains(errs, "name the same file") || !os.IsNotExist(err) {
			t.Errorf("%s: exit %d, %q %q, %v", out, exit, said, errs, err)
		}
	}
}

func TestATokenWhoseHashCouldNotBeStoredIsTakenAway(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "tokens"), filepath.Join(dir, "anna.token")
	a := &app{&cmdline.App{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}
	if err := os.Mkdir(filepath.Join(dir, "made"), 0o700); err != nil {
		t.Fatal(err)
	}
	written := tokenOut{file: out}
	if err := written.write("dmt_x", file); err != nil || content(t, out) != "dmt_x\n" {
		t.Fatal(err)
	}
	written.undo()
	if _, err := os.Lstat(out); !os.IsNotExist(err) {
		t.Error("undo left the file:", err)
	}
	// A file of hashes that cannot be read keeps the token from being written at all.
	err := a.addToken(filepath.Join(dir, "made"), access.Principal{Name: "anna", Tenant: "default", Roles: []access.Role{access.Read}}, tokenOut{file: out})
	if _, gone := os.Lstat(out); err == nil || !os.IsNotExist(gone) {
		t.Error(err, gone)
	}
}
