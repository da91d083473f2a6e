package sqlite

import "github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"

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

func (db *DB) look(f dbfile.Files) error {
	if err := db.troubles.over(); err != nil {
		return err
	}
	if err := f.Look(); err != nil {
		db.end(err)
		return err
	}
	return nil
}
