package bench_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/measure"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

var update = flag.Bool("update", false, "write the golden files of this package")

// benched runs the command and returns what it prints.
func benched(t *testing.T, exit int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"bench", "--dir", t.TempDir()}, args...)
	if code := cli.Main(t.Context(), args, strings.NewReader(""), &out, &errs, cmdline.Options{Getenv: func(string) string { return "" }}); code != exit {
		t.Fatalf("exit %d, want %d: %s", code, exit, &errs)
	}
	return out.String(), errs.String()
}

func reported(t *testing.T, args ...string) (r measure.Report, text string) {
	t.Helper()
	text, _ = benched(t, cmdline.ExitOK, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r, text
}

var small = []string{"--steps", "10", "--results", "2000", "--approvals", "2,0", "--runs", "1,2", "--rounds", "1"}

func TestTheReportHasEveryFigure(t *testing.T) {
	r, text := reported(t, small...)
	if len(r.Cases) != 3 || r.RawCommit.Median <= 0 {
		t.Fatalf("got %s", text)
	}
	for _, c := range r.Cases {
		for _, name := range []string{measure.Fsyncs, measure.Statements, measure.LogBytes, measure.WrittenBytes, measure.Wall} {
			step, run := c.PerStep[name], c.PerRun[name]
			if step.Least <= 0 || step.Most < step.Median || run.Median < step.Median {
				t.Errorf("%d runs: %s is %+v per step, and %+v per run", c.Runs, name, step, run)
			}
		}
		if (c.Approvals > 0) != (c.DecisionP50 != nil) || c.StepP50.Median <= 0 || c.StepInCommits.Median <= 0 {
			t.Errorf("%d approvals: a decision takes %v, a step %v", c.Approvals, c.DecisionP50, c.StepP50)
		}
		if c.Runs == 1 && (len(c.Windows) != 1 || c.Windows[0].Cost[measure.Statements].Median <= 0) {
			t.Errorf("windows %+v", c.Windows)
		}
	}
	held(t, "report.golden.json", text)
}

// held holds the members of a report to a golden file; numbers are all alike.
func held(t *testing.T, name, text string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(zeroed(v), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("%s (-want +got); if it is meant: go test ./internal/cli/bench -update\n%s", file, diff)
	}
}

// zeroed keeps the structure of a report.
func zeroed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 3 && v["median"] != nil {
			return "a range"
		}
		for name, member := range v {
			v[name] = zeroed(member)
		}
	case []any:
		for i, item := range v {
			v[i] = zeroed(item)
		}
	case float64:
		return 0
	case string:
		return "text"
	}
	return v
}

// A step needs the same statements and flushes each time, but that what workers do at the same time
// may share a commit.
func TestStepsCostTheSameInTwoMeasurements(t *testing.T) {
	args := []string{"--steps", "10", "--results", "2000", "--approvals", "0", "--runs", "1", "--rounds", "3"}
	first, _ := reported(t, args...)
	second, _ := reported(t, args...)
	for _, name := range []string{measure.Fsyncs, measure.Statements, measure.LogBytes} {
		a, b := first.Cases[0].Windows[0].Cost[name].Median, second.Cases[0].Windows[0].Cost[name].Median
		if math.Abs(a-b) > 0.3*a {
			t.Errorf("%s: %v, then %v", name, a, b)
		}
	}
}

func TestPeopleReadATable(t *testing.T) {
	out, progress := benched(t, cmdline.ExitOK, "--steps", "10,100", "--results", "200", "--approvals", "0", "--runs", "1", "--rounds", "1")
	for _, part := range []string{"a raw commit of this disk takes", "Per step\n", "STEPS  RESULT  APPROVALS", "100    200 B   0 ", "(×1."} {
		if !strings.Contains(out, part) {
			t.Errorf("the output lacks %q:\n%s", part, out)
		}
	}
	if !strings.Contains(progress, "110 of 110 steps") {
		t.Errorf("progress %q", progress)
	}
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	for _, args := range [][]string{{"--steps", "0"}, {"--steps", "ten"}, {"--results", "-1"}, {"--runs", ""}, {"--rounds", "0"}, {"--steps", "2"}, {"--approvals", "none"}, {"more"}} {
		if _, errs := benched(t, cmdline.ExitUsage, args...); errs == "" {
			t.Errorf("%q: no reason", args)
		}
	}
	if _, errs := benched(t, cmdline.ExitFailed, "--dir", filepath.Join(t.TempDir(), "none")); !strings.Contains(errs, "none") {
		t.Errorf("a directory that does not exist: %q", errs)
	}
}
