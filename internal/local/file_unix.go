//go:build unix

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockFile waits until no other process holds the lock, and holds it until release or the end of
// the process, including a crash.
func lockFile(file string) (release func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", file, err)
		}
	}
}

// keepOwner gives the file the owner of the one whose place it takes: an administrator's edit must
// not take it away from the server.
func keepOwner(f *os.File, before fs.FileInfo) error {
	stat, ok := before.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() && int(stat.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(stat.Uid), int(stat.Gid))
}
