package sleepers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// fromDisk are the bytes that this process has had read from disks.
func fromDisk(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := bytes.Cut(text, []byte("\nread_bytes: "))
	if _, err := fmt.Sscan(string(after), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnEvictedFileIsReadFromTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var system unix.Statfs_t
	if err := unix.Statfs(path, &system); err != nil {
		t.Fatal(err)
	}
	if system.Type == unix.TMPFS_MAGIC {
		t.Skip("temporary files are in memory here: TMPDIR names a directory on a disk")
	}
	read := func() int {
		before := fromDisk(t)
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		return fromDisk(t) - before
	}
	if n := read(); n >= 1<<20 {
		t.Fatalf("%d bytes of a file that was just written came from the disk", n)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := evict(file); err != nil {
		t.Fatal(err)
	}
	if n := read(); n < 1<<20 {
		t.Errorf("%d bytes came from the disk, and the file has %d", n, 1<<20)
	}
}
