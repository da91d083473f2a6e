package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// trace is what was made so far, in order, so that it can be taken back.
type trace struct{ dirs, files []string }

// directory makes a directory and those above it that are not there.
func (t *trace) directory(dir string) error {
	missing := absent(dir)
	err := os.MkdirAll(dir, 0o755)
	slices.Reverse(missing)
	t.dirs = append(t.dirs, missing...)
	if at, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s %w, and must be a directory; move it away", at.Path, ErrInTheWay)
	}
	if err != nil {
		return fmt.Errorf("scaffold: making the directory: %w", err)
	}
	return nil
}

// absent are dir and those above it that are not there, the lowest first.
func absent(dir string) (missing []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			return missing
		}
		missing = append(missing, dir)
		dir = filepath.Dir(dir)
	}
}

// undo removes what was made, the last first. A directory that is not empty by now stays.
func (t *trace) undo() error {
	var err error
	for _, file := range slices.Backward(t.files) {
		err = errors.Join(err, os.Remove(file))
	}
	for _, dir := range slices.Backward(t.dirs) {
		_ = os.Remove(dir) // it may have been the one that could not be made
	}
	return err
}
