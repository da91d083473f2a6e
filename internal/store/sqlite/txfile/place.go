package txfile

import "github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"

// Look compares the paths with the open files, and ends the process if one of the files was moved
// or removed.
func (f *File) Look() error {
	f.mu.RLock()
	w := f.writer
	f.mu.RUnlock()
	if w == nil { // open read-only, or closed: nothing is acknowledged
		return nil
	}
	return f.look(w.files)
}

func (f *File) look(are dbfile.Files) error {
	if err := f.troubles.over(); err != nil {
		return err
	}
	if err := are.Look(); err != nil {
		f.end(err)
		return err
	}
	return nil
}
