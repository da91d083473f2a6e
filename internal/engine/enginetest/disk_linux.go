package enginetest

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// SmallDisk returns a directory on a separate file system with the given size in bytes. It skips
// the test if this process may not mount one.
func SmallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+strconv.Itoa(size)); err != nil {
		t.Skipf("mounting a file system needs the right to do so: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Fill takes all that is left of the file system of dir. The function that it returns gives it
// back.
func Fill(t *testing.T, dir string) (room func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	f.Close() // it could not be written to its end, as it should
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}
