package hook_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// TestACommandInheritsNoOpenFile: not even one that a library opened without care, as the file of the
// keys that sign links may be.
func TestACommandInheritsNoOpenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "link.keys")
	fd, err := syscall.Open(file, syscall.O_CREAT|syscall.O_RDWR, 0o600) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	got, err := after(t, hiding(t, "ls", "-l", "/proc/self/fd"), "write_file", core.Outcome{})
	if err != nil || strings.Contains(got, "link.keys") || !strings.Contains(got, "pipe:") {
		t.Errorf("%q, %v", got, err)
	}
}
