package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const example = "../../../examples/refund-desk"

// program builds the program of the example.
func program(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "refund-desk")
	out, err := exec.Command("go", "build", "-o", binary, example).CombinedOutput()
	if err != nil {
		t.Fatalf("building %s: %v\n%s", example, err, out)
	}
	return binary
}

func TestTheRunSurvivesAKillAndRefundsOnce(t *testing.T) {
	var out bytes.Buffer
	if err := demo(t.Context(), options{binary: program(t), agents: example, out: &out}); err != nil {
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
	err := demo(t.Context(), options{binary: "false", agents: example, out: &out})
	if err == nil || !strings.Contains(err.Error(), "did not say where it listens") {
		t.Errorf("got %v", err)
	}
}
