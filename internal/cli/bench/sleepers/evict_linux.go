package sleepers

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// evict drops the pages of a file from the system's cache, and those of its log. Pages that another
// process has mapped into its memory stay; SQLite maps only the index of the log.
func evict(path string) error {
	return errors.Join(evictFile(path), evictFile(path+"-wal"))
}

func evictFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // changed pages stay until they are on the disk
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
