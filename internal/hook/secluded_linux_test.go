package hook_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

// The kernel lets no other process of the user read the environment and the memory of one that is
// not dumpable.
func TestASecludedProcessIsNotDumpable(t *testing.T) {
	const prGetDumpable, prSetDumpable = 3, 4
	dumpable := func() uintptr {
		is, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetDumpable, 0, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		return is
	}
	before := dumpable()
	t.Cleanup(func() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, before, 0) })
	if hook.Seclude(); dumpable() != 0 {
		t.Errorf("dumpable is %d", dumpable())
	}
}

// TestACommandInheritsNoOpenFile: not even one that a library opened without care, as the file of
// the keys that sign links may be.
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
