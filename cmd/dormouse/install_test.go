package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// go install refuses a module with these.
var refused = regexp.MustCompile(`(?m)^(replace|exclude)\b`)

func TestTheProgramInstallsAsADependencyAndSaysItsVersion(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if line := refused.Find(mod); line != nil {
		t.Errorf("go.mod has %q, with which go install of a version fails", line)
	}
	if testing.Short() {
		t.Skip("builds the program")
	}
	// A module elsewhere that requires v0.9.0 of this one, which is read from here.
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/dormouse-dev/dormouse"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/elsewhere\n\ngo 1.26.0\n\nrequire " + module + " v0.9.0\n\nreplace " + module + " => " + root + "\n",
		"go.sum": string(sums),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "go", "install", "-mod=mod", module+"/cmd/dormouse")
	install.Dir = dir
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "dormouse"), "--version").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "dormouse v0.9.0" {
		t.Errorf("it says %q, %v; want the version that was required", out, err)
	}
}
