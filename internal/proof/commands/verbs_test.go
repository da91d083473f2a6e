package commands_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/proof/commands"
)

var update = flag.Bool("update", false, "write the golden files of this package anew")

// said runs a command without a terminal and returns its exit code and what it said.
func said(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	exit = commands.Main(t.Context(), args, strings.NewReader(""), &out, &errs, noEnvironment())
	return exit, out.String(), errs.String()
}

// checks is what the product says of a directory of agents.
func checks(t *testing.T, dir string) (exit int, stdout string) {
	t.Helper()
	var out, errs strings.Builder
	exit = cli.Main(t.Context(), []string{"agents", "check", dir}, strings.NewReader(""), &out, &errs, noEnvironment())
	return exit, out.String() + errs.String()
}

func noEnvironment() cmdline.Options {
	return cmdline.Options{Version: "v1.2.3", Getenv: func(string) string { return "" }}
}

type output struct {
	exit           int
	stdout, stderr string
}

func prove(t *testing.T, args ...string) output {
	t.Helper()
	exit, stdout, stderr := said(t, args...)
	return output{exit, stdout, stderr}
}

func (o output) wantExit(t *testing.T, want int) {
	t.Helper()
	if o.exit != want {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.exit, want, o.stdout, o.stderr)
	}
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if it is meant: go test ./internal/proof/commands -update\n%s", file, diff)
	}
}

func TestHelpIsAsItWas(t *testing.T) {
	for _, verb := range []string{"replay", "torture"} {
		out := prove(t, "help", verb)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "Examples:\n  dormouse-proof "+verb)
		golden(t, "help_"+verb+".golden.txt", out.stdout)
	}
}

// What this program says of itself names its own commands, and each exit code that it has.
func TestTheHelpIsOfThisProgram(t *testing.T) {
	help := prove(t, "help", "help")
	contains(t, help.stdout, "Examples:\n  dormouse-proof help ")
	codes := prove(t, "help", "exit-codes")
	for code := range cmdline.ExitBroken + 1 {
		contains(t, codes.stdout, fmt.Sprintf("\n  %d  ", code))
	}
	for _, others := range []string{"approvals", "agents", "enqueue", "runs"} {
		if strings.Contains(help.stdout+codes.stdout, others) {
			t.Errorf("%s is of another program:\n%s%s", others, help.stdout, codes.stdout)
		}
	}
}

func TestTheReportIsAsItWas(t *testing.T) {
	out := prove(t, "replay", recorded(t, talk), "--json")
	out.wantExit(t, cmdline.ExitOK)
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(out.stdout), "", "  "); err != nil {
		t.Fatal(err)
	}
	took := regexp.MustCompile(`"([a-z_]*seconds)": [0-9.e-]+`)
	golden(t, "replay.golden.json", took.ReplaceAllString(indented.String(), `"$1": 0`))
}

func TestTheProgramIsCalledByItsName(t *testing.T) {
	for want, args := range map[string][]string{
		"dormouse-proof v1.2.3\n": {"version"},
		`dormouse-proof: unknown command "reply" for "dormouse-proof"; did you mean: replay; see: dormouse-proof help`: {"reply"},
		`dormouse-proof: --seed takes a whole number from 0, not "-1"`:                                                 {"replay", "--generate", "1", "--seed", "-1"},
		`dormouse-proof: --every takes a duration such as 500ms, 30s or 10m, not "soon"`:                               {"torture", "--every", "soon"},
		`dormouse-proof: --faults takes a number, not "half"`:                                                          {"replay", "x", "--faults", "half"},
		"dormouse-proof: --bin: ": {"torture", "--bin", "no/such/program"},
		"dormouse-proof: --bin is about a server that this command starts; leave it out with --url": {"torture", "--url", "http://127.0.0.1:1", "--bin", "x"},
	} {
		out := prove(t, args...)
		contains(t, out.stdout+out.stderr, want)
	}
}
