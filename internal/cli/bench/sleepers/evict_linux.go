package sleepers

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// evict drops the pages of a database from the system's cache, and those of its log. Pages that
// another process has mapped into its memory stay; SQLite maps only the index of the log. The
// database is given open, since to close it ends the locks of this process; a log has none.
func evict(database *os.File) error {
	log, err := os.Open(database.Name() + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return evictFile(database)
	}
	if err != nil {
		return err
	}
	return errors.Join(evictFile(database), evictFile(log), log.Close())
}

func evictFile(f *os.File) error {
	if err := f.Sync(); err != nil { // changed pages stay until they are on the disk
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
