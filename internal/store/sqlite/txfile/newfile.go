package txfile

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
)

// makeFile creates a file that only its owner can read, whatever the mode of its directory, because
// arguments and results are stored in plain text. Files that SQLite creates beside it later get the
// same mode. If a database existed and is missing, no new one is created.
//
// A file that has to survive a power loss is written under another name first: the path never leads
// to part of a database. Where that fails (a full disk, a file system without hard links), SQLite
// writes the file in place.
func makeFile(path string, sync dbfile.Sync) (made bool, err error) {
	if err := mark.WholeBefore(path); err != nil {
		return false, err
	}
	if info, err := os.Stat(path); err == nil {
		return info.Size() == 0, nil
	}
	if sync != dbfile.SyncOff {
		if err := publish(path); err == nil {
			return true, nil
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		info, err := os.Stat(path)
		return err == nil && info.Size() == 0, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// publish puts an empty database at path, whole and flushed, unless there is a file. A link never
// replaces a file, so of several processes that start at once one creates the database. A process
// that is killed meanwhile leaves a small file whose name ends in .new and digits.
func publish(path string) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Close(), os.Remove(temp.Name())) }()
	if err := writeEmpty(temp.Name()); err != nil {
		return fmt.Errorf("preparing a new database: %w", err)
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil {
		return err
	}
	// some file systems can't flush a directory; SQLite does without, too
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		dir.Close()
	}
	return nil
}

// writeEmpty makes the empty file at path a database with a write-ahead log and no tables. All
// later writes go to the log first.
func writeEmpty(path string) error {
	db, err := sql.Open("sqlite", dbfile.DataSource(path, url.Values{"_pragma": dbfile.WritePragmas(dbfile.SyncFull)}))
	if err != nil {
		return err
	}
	return errors.Join(db.Ping(), db.Close())
}
