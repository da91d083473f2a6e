package hook_test

import (
	"os/exec"
	"testing"
)

func makeFifo(t *testing.T, path string) {
	t.Helper()
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
