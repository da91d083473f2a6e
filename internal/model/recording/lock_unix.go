//go:build unix

package recording

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock waits for the file's lock and holds it until the file is closed.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil || !errors.Is(err, syscall.EINTR) {
			if err != nil {
				err = fmt.Errorf("locking %s: %w", f.Name(), err)
			}
			return err
		}
	}
}
