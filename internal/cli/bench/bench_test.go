package bench_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/measure"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

var update = flag.Bool("update", false, "write the golden files of this package")

// benched runs the command and returns what it prints.
func benched(t *testing.T, exit int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"bench"}, args...)
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
	for _, part := range []string{"A raw commit to this disk takes", "Per step\n", "STEPS  RESULT  APPROVALS", "100    200 B   0 ", "(×1."} {
		if !strings.Contains(out, part) {
			t.Errorf("the output lacks %q:\n%s", part, out)
		}
	}
	if !strings.Contains(progress, "110 of 110 steps") {
		t.Errorf("progress %q", progress)
	}
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	for _, args := range [][]string{{"--steps", "0"}, {"--steps", "ten"}, {"--results", "-1"}, {"--runs", ""}, {"--rounds", "0"}, {"--steps", "2"}, {"--approvals", "none"}, {"more"},
		{"--cold"}, {"--memory", "128"}, {"--dynamodb", "here"}, {"--dynamodb", "http://127.0.0.1:1", "--memory", "0"}} {
		if _, errs := benched(t, cmdline.ExitUsage, args...); errs == "" {
			t.Errorf("%q: no reason", args)
		}
	}
	if _, errs := benched(t, cmdline.ExitFailed, "--dir", filepath.Join(t.TempDir(), "none")); !strings.Contains(errs, "none") {
		t.Errorf("a directory that does not exist: %q", errs)
	}
}

// onDouble is the flags for a measurement on a double of DynamoDB.
func onDouble(t *testing.T, more ...string) []string {
	t.Helper()
	double := awsdouble.New(awsdouble.Options{})
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		if unknown := double.Unknown(); len(unknown) > 0 {
			t.Errorf("the double was asked for what it does not know: %q", unknown)
		}
	})
	return append([]string{"--dynamodb", server.URL, "--results", "2000", "--runs", "1", "--rounds", "1"}, more...)
}

// The same is counted each time, but that ids and times compress differently, and that a slow step
// looks for a cancel. A warm process reads the same at every step.
func TestUnitsOfTheFunctionsAreCounted(t *testing.T) {
	args := onDouble(t, "--steps", "10,100", "--approvals", "2")
	r, text := reported(t, args...)
	again, _ := reported(t, args...)
	for i, c := range r.Cases {
		for _, name := range []string{measure.ReadUnits, measure.WriteUnits, measure.StoreRequests, measure.QueueRequests, measure.Invocations} {
			first, second := c.PerRun[name].Median, again.Cases[i].PerRun[name].Median
			if first <= 0 || math.Abs(first-second) > first/20 {
				t.Errorf("%d steps: %s is %v, then %v", c.Steps, name, first, second)
			}
		}
		// 3 s of 128 MB for each step are 5 millionths of a dollar; the rest is twice that
		if c.Price == nil || c.Price.Median < float64(c.Steps)*5e-6 || c.Price.Median > float64(c.Steps)*20e-6 {
			t.Errorf("%d steps cost %+v", c.Steps, c.Price)
		}
	}
	if w := r.Cases[1].Windows; len(w) != 2 || w[1].Growth[measure.ReadUnits].Median > 1.1 || w[1].Growth[measure.WriteUnits].Median > 1.1 {
		t.Errorf("windows %+v", w)
	}
	held(t, "dynamodb.golden.json", text)
}

// A process that has read nothing of a run reads it first.
func TestAColdProcessReadsMore(t *testing.T) {
	warm, _ := reported(t, onDouble(t, "--steps", "10", "--approvals", "0")...)
	cold, _ := reported(t, onDouble(t, "--steps", "10", "--approvals", "0", "--cold")...)
	few, many := warm.Cases[0].PerRun[measure.ReadUnits].Median, cold.Cases[0].PerRun[measure.ReadUnits].Median
	if !cold.Cold || many <= few {
		t.Errorf("a warm process reads %v units, a cold one %v", few, many)
	}
}

func TestFlagsThatNoMeasurementHasAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"--model is -5s; it must be at least 0s":                                       {"fair", "--model", "-5s"},
		"--starts is 0; it must be at least 1":                                         {"fair", "--hands", "0", "--starts", "0"},
		"--model-time is -1s; it must be at least 0s":                                  {"--dynamodb", "http://127.0.0.1:1", "--model-time", "-1s"},
		"results of 9223372036854775807 bytes: there can be at most 2097152":           {"--results", "9223372036854775807"},
		"2 approvals in 1 steps: the last step is the answer, so there can be at most": {"--steps", "1"},
	} {
		if _, stderr := benched(t, cmdline.ExitUsage, args...); !strings.Contains(stderr, want) {
			t.Errorf("%v: %q is not in %s", args, want, stderr)
		}
	}
}

// TestAnErrorOfAMeasuredServerIsNotOneOfTheServerOfTheCommands names the server that didn't answer.
func TestAnErrorOfAMeasuredServerIsNotOneOfTheServerOfTheCommands(t *testing.T) {
	_, stderr := benched(t, cmdline.ExitFailed, "--dynamodb", "http://127.0.0.1:1", "--steps", "2", "--approvals", "0", "--runs", "1", "--rounds", "1")
	if !strings.Contains(stderr, "127.0.0.1:1") || strings.Contains(stderr, "dormouse dev") {
		t.Error(stderr)
	}
}
