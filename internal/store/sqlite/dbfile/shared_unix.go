//go:build unix

package dbfile

import (
	"os"
	"syscall"
)

// Shared reports whether another process has the database at path open: each holds a lock on one
// byte of the log's index. It must not be called while this process has it open, because closing
// any descriptor of a file releases all locks of the process on it.
func Shared(path string) bool {
	f, err := os.OpenFile(path+"-shm", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	const inUse = 128
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: inUse, Len: 1}
	return syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock) == nil && lock.Type != syscall.F_UNLCK
}
