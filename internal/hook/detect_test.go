package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

// tree is a directory with these files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheCommandsOfAWorkspaceAreDetected(t *testing.T) {
	const gomod = "module x\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  string // format, lint
	}{
		"Go":                               {map[string]string{"go.mod": gomod}, "gofmt -w . by go.mod, go vet ./... by go.mod"},
		"Rust":                             {map[string]string{"Cargo.toml": ""}, "cargo fmt by Cargo.toml, cargo clippy --quiet by Cargo.toml"},
		"Node with both scripts":           {map[string]string{"package.json": `{"scripts":{"format":"prettier -w .","lint":"eslint ."}}`}, "npm run --silent format by package.json, npm run --silent lint by package.json"},
		"Node with one":                    {map[string]string{"package.json": `{"scripts":{"lint":"eslint .","test":"x"}}`}, "none, npm run --silent lint by package.json"},
		"Node with an empty script":        {map[string]string{"package.json": `{"scripts":{"lint":""}}`}, "none, none"},
		"Node without scripts":             {map[string]string{"package.json": `{}`}, "none, none"},
		"Node, torn":                       {map[string]string{"package.json": `{"scripts":{"lint":`}, "none, none"},
		"ruff in pyproject.toml":           {map[string]string{"pyproject.toml": "[project]\n[tool.ruff.lint]\n"}, "ruff format --quiet . by pyproject.toml, ruff check --quiet . by pyproject.toml"},
		"ruff.toml":                        {map[string]string{"ruff.toml": "", "pyproject.toml": "[tool.black]\n"}, "ruff format --quiet . by ruff.toml, ruff check --quiet . by ruff.toml"},
		"black":                            {map[string]string{"pyproject.toml": "[tool.black]\nline-length = 100\n"}, "black --quiet . by pyproject.toml, none"},
		"Python with neither":              {map[string]string{"pyproject.toml": "[project]\n# [tool.ruff]\n"}, "none, none"},
		"a Makefile":                       {map[string]string{"Makefile": ".PHONY: fmt lint\nfmt:\n\tgofmt -w .\nlint: fmt\n"}, "make -s fmt by Makefile, make -s lint by Makefile"},
		"a target with another name":       {map[string]string{"Makefile": "format : \n\tx\n"}, "make -s format by Makefile, none"},
		"several targets of one rule":      {map[string]string{"Makefile": "all fmt lint test: deps\n"}, "make -s fmt by Makefile, make -s lint by Makefile"},
		"variables are no targets":         {map[string]string{"Makefile": "fmt := x\nlint = a: b\nlint::= c\n"}, "none, none"},
		"neither are recipes and comments": {map[string]string{"Makefile": "all:\n\tlint: x\n# fmt: y\nprelint:\nlint-all:\n"}, "none, none"},
		"the Makefile that make reads":     {map[string]string{"GNUmakefile": "lint:\n", "Makefile": "fmt:\n"}, "none, make -s lint by GNUmakefile"},
		"the Makefile before the language": {map[string]string{"Makefile": "lint:\n", "go.mod": gomod}, "gofmt -w . by go.mod, make -s lint by Makefile"},
		"nothing that is known":            {map[string]string{"a.txt": "x"}, "none, none"},
	} {
		t.Run(name, func(t *testing.T) {
			says := map[string]string{hook.Format: "none", hook.Lint: "none"}
			for _, d := range hook.Detect(tree(t, tt.files), []string{hook.Lint, hook.Format}) {
				says[d.Kind] = d.String() + " by " + d.From
			}
			if got := says[hook.Format] + ", " + says[hook.Lint]; got != tt.want {
				t.Errorf("detected %s\nwant     %s", got, tt.want)
			}
		})
	}
	dir := tree(t, map[string]string{"go.mod": gomod})
	if got := hook.Detect(dir, []string{hook.Lint}); len(got) != 1 || got[0].Kind != hook.Lint {
		t.Errorf("of lint alone: %v", got)
	}
	if got := hook.Detect(filepath.Join(dir, "gone"), hook.Kinds); got != nil {
		t.Errorf("where there is no workspace: %v", got)
	}
}

func TestWhatLeadsOutOfAWorkspaceIsNotDetected(t *testing.T) {
	outside := tree(t, map[string]string{"go.mod": "module x\n", "Makefile": "lint:\n"})
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "Makefile"} {
		if err := os.Symlink(filepath.Join(outside, name), filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	if got := hook.Detect(dir, hook.Kinds); got != nil {
		t.Errorf("detected %v", got)
	}
}

// commands is a search path with programs that note in a log how they are called, and then do what
// the test says.
func commands(t *testing.T, programs map[string]string) (log string) {
	t.Helper()
	bin := t.TempDir()
	log = filepath.Join(bin, "log")
	for name, does := range programs {
		script := "#!/bin/sh\necho \"" + name + " $*\" >> '" + log + "'\n" + does + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	return log
}

func TestADetectedEffectFormatsSilentlyAndShowsWhatIsWrong(t *testing.T) {
	makefile := map[string]string{"Makefile": "fmt:\nlint:\n"}
	both := []string{hook.Lint, hook.Format}
	for name, tt := range map[string]struct {
		files  map[string]string
		make   string
		detect []string
		refuse string
		want   string
		ran    string
		wrong  string
	}{
		"it formats before it lints":           {makefile, `[ "$2" = fmt ] && echo formatted || { echo "a.go:1: unused"; exit 2; }`, both, "", "lint (make -s lint):\na.go:1: unused", "make -s fmt|make -s lint|", ""},
		"nothing to show":                      {makefile, `true`, both, "", "", "make -s fmt|make -s lint|", ""},
		"a formatter that fails says nothing":  {makefile, `[ "$2" = fmt ] && { echo broken; exit 1; }; true`, both, "", "", "make -s fmt|make -s lint|", ""},
		"one kind":                             {makefile, `echo said`, []string{hook.Format}, "", "", "make -s fmt|", ""},
		"a workspace without commands":         {map[string]string{"a.txt": ""}, `echo said`, both, "", "", "", ""},
		"a program that is not on the machine": {map[string]string{"Cargo.toml": ""}, `echo said`, both, "", "", "", ""},
		"a rule that forbids it":               {makefile, `echo said`, both, "make", "", "", "the command make was not run: a rule forbids it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, tt.files)
			log := commands(t, map[string]string{"make": tt.make})
			got, err := after(t, hook.Spec{Follows: writes, Clock: newClock(), Workspace: dir, Detect: tt.detect, Refuses: func(program string) string {
				if program == tt.refuse {
					return "a rule forbids it"
				}
				return ""
			}}, "write_file", core.Outcome{Text: "written"})
			ran, _ := os.ReadFile(log)
			if got != tt.want || strings.ReplaceAll(string(ran), "\n", "|") != tt.ran {
				t.Errorf("%q; ran %q", got, ran)
			}
			if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestADetectedEffectFollowsWhatCommandsFollow(t *testing.T) {
	dir := tree(t, map[string]string{"Makefile": "fmt:\nlint:\n"})
	log := commands(t, map[string]string{"make": "echo said"})
	s := hook.Spec{Follows: writes, Clock: newClock(), Workspace: dir, Detect: hook.Kinds}
	for tool, out := range map[string]core.Outcome{"read_file": {}, "write_file": {Failed: true}} {
		if got, err := after(t, s, tool, out); got != "" || err != nil {
			t.Errorf("after %s: %q, %v", tool, got, err)
		}
	}
	if ran, err := os.ReadFile(log); err == nil {
		t.Errorf("ran %s", ran)
	}
}

// What the linter says is kept, although the formatter may not run; the journal has both.
func TestOneCommandThatMayNotRunLeavesTheOther(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module x\n", "Makefile": "lint:\n"})
	commands(t, map[string]string{"make": "echo a.go:1: unused", "gofmt": "echo said"})
	h := hook.Effect(hook.Spec{Name: "tidy", Follows: writes, Clock: newClock(), Workspace: dir, Detect: hook.Kinds, Refuses: func(program string) string {
		if program == "gofmt" {
			return "not here"
		}
		return ""
	}})
	e, err := h.(engine.AfterToolHook).AfterToolExecute(t.Context(), engine.HookRequest{}, core.ToolCall{Name: "write_file"}, core.Outcome{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Append != "lint (make -s lint):\na.go:1: unused" || len(e.Notes) != 1 || !strings.Contains(e.Notes[0], "the command gofmt was not run: not here") {
		t.Errorf("%+v", e)
	}
}
