package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program builds dormouse.
func program(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "dormouse")
	out, err := exec.Command("go", "build", "-o", binary, "../../../cmd/dormouse").CombinedOutput()
	if err != nil {
		t.Fatalf("building dormouse: %v\n%s", err, out)
	}
	return binary
}

func TestTheRunSurvivesAKillAndRefundsOnce(t *testing.T) {
	var out bytes.Buffer
	if err := demo(t.Context(), options{binary: program(t), agents: "..", out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"SIGKILL", "the run is waiting", "the run is done (natural_end)", "exactly one refund"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestAServerThatDoesNotStartIsSaid(t *testing.T) {
	var out bytes.Buffer
	err := demo(t.Context(), options{binary: "false", agents: "..", out: &out})
	if err == nil || !strings.Contains(err.Error(), "did not say where it listens") {
		t.Errorf("got %v", err)
	}
}
