package dbfile

import (
	"errors"
	"fmt"
	"os"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Files identifies the database, its log and the log's index as they were when they were opened.
// SQLite does not check the paths again: what it writes to a file that was moved or removed is lost
// once the process ends.
type Files struct {
	db  string
	are []inode
}

var endings = []string{"", "-wal", "-shm"}

// Identify notes which files of the database are open. All three must exist.
func Identify(db string) (Files, error) {
	f := Files{db: db}
	for _, ending := range endings {
		is, err := inodeAt(db + ending)
		if err != nil {
			return f, err
		}
		f.are = append(f.are, is)
	}
	return f, nil
}

// Look returns [engine.ErrGone] if a path no longer leads to the open file. A path that cannot be
// checked proves nothing.
func (f Files) Look() error {
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
