package sqlite

import (
	"errors"
	"fmt"
	"os"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Look compares the paths with the files that are open, and ends the work on files that are not
// there any more.
func (db *DB) Look() error {
	db.mu.RLock()
	w := db.writer
	db.mu.RUnlock()
	if w == nil { // open for reading alone, or closed: nothing is acknowledged
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

// files are the database, its log and the log's index, as they were when they were opened. SQLite
// does not look at their paths again: what it writes to a file that was removed or moved is nowhere
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

// look says that a path does not lead to the open file any more. A path that cannot be looked at is
// no evidence.
func (f files) look() error {
	for i, ending := range endings[:len(f.are)] {
		now, err := inodeAt(f.db + ending)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("%w: %s was moved or removed while it was open", engine.ErrGone, f.db+ending)
		case err == nil && !now.same(f.are[i]):
			return fmt.Errorf("%w: another file is at %s, which was moved or removed while it was open", engine.ErrGone, f.db+ending)
		}
	}
	return nil
}
