package sqlite

import (
	"errors"
	"fmt"
	"os"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Look compares the paths with the open files, and ends the process if one of the files was moved
// or removed.
func (db *DB) Look() error {
	db.mu.RLock()
	w := db.writer
	db.mu.RUnlock()
	if w == nil { // open read-only, or closed: nothing is acknowledged
		return nil
	}
	return db.look(w.files)
}

func (db *DB) look(f files) error {
	if err := db.troubles.over(); err != nil {
		return err
	}
	if err := f.look(); err != nil {
		db.end(err)
		return err
	}
	return nil
}

// files identifies the database, its log and the log's index as they were when they were opened.
// SQLite does not check the paths again: what it writes to a file that was moved or removed is lost
// once the process ends.
type files struct {
	db  string
	are []inode
}

var endings = []string{"", "-wal", "-shm"}

func openFiles(db string) (files, error) {
	f := files{db: db}
	for _, ending := range endings {
		is, err := inodeAt(db + ending)
		if err != nil {
			return f, err
		}
		f.are = append(f.are, is)
	}
	return f, nil
}

// look reports a path that no longer leads to the open file. A path that cannot be checked proves
// nothing.
func (f files) look() error {
	for i, ending := range endings[:len(f.are)] {
		now, err := inodeAt(f.db + ending)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("%w: %s was moved or removed while it was open", engine.ErrGone, f.db+ending)
		case err == nil && !now.same(f.are[i]):
			return fmt.Errorf("%w: %s was moved or removed while it was open, and another file is in its place", engine.ErrGone, f.db+ending)
		}
	}
	return nil
}
