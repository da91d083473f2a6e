//go:build unix

package torture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

// build builds the real programs, as a person has them, into one directory.
func build(t *testing.T) string {
	t.Helper()
	effort.Long(t, "it builds and kills whole processes")
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "../../../cmd/dormouse", "../../../cmd/dormouse-proof").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return dir
}

func TestTheRealProgramKeepsItsWordUnderKills(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	cmd := exec.CommandContext(t.Context(), filepath.Join(build(t), "dormouse-proof"), "torture", "--kills", "8", "--callers", "12", "--every", "300ms", "--dir", dir, "--json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var report torture.Report
	if err := errors.Join(err, json.Unmarshal(stdout.Bytes(), &report)); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	t.Log(report.Line())
	if !report.Held || report.Kills != 8 || report.Runs == 0 || report.Decisions == 0 || report.Effects == 0 {
		t.Errorf("nothing was proved: %s", stdout.String())
	}
}

func TestAServerThatDoesNotStartAgainIsAViolation(t *testing.T) {
	began := 0
	command := func(_, _, _ string) *exec.Cmd {
		if began++; began > 1 {
			return exec.Command("sh", "-c", "echo the file is broken >&2; exit 1")
		}
		return exec.Command("sh", "-c", `echo '{"url":"http://127.0.0.1:1"}'; exec sleep 60`)
	}
	report, err := torture.Run(t.Context(), torture.Options{Command: command, Kills: 3, Every: time.Millisecond, Dir: t.TempDir(), Callers: 2,
		Seed: 1, Session: "s", Patience: time.Minute})
	if err != nil || report.Held || len(report.Violations) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if v := report.Violations[0]; v.Rule != "a killed server starts again" || !strings.Contains(v.Found, "the file is broken") {
		t.Error(v)
	}
}

func TestAServerThatNeverStartedIsAnError(t *testing.T) {
	command := func(_, _, _ string) *exec.Cmd { return exec.Command("false") }
	_, err := torture.Run(t.Context(), torture.Options{Command: command, Kills: 1, Every: time.Millisecond, Dir: t.TempDir(), Callers: 1})
	if err == nil || !strings.Contains(err.Error(), "does not say where it listens") {
		t.Error(err)
	}
}
