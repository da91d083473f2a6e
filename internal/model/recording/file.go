package recording

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// Append adds a conversation to the end of a file. It creates the file if necessary, readable only
// by its owner. Several processes may append to one file at once: a line is complete or absent. On
// systems without file locks, two simultaneous writes may mix.
func Append(file string, c Conversation) error {
	var line bytes.Buffer
	if err := Write(&line, []Conversation{c}); err != nil {
		return err
	}
	return withFile(file, func(f *os.File) error { return appendLine(f, line.Bytes()) })
}

// CanAppend reports whether [Append] could write to the file now, and creates the file if
// necessary.
func CanAppend(file string) error { return withFile(file, func(*os.File) error { return nil }) }

func withFile(file string, do func(*os.File) error) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err = lock(f); err == nil {
		err = do(f)
	}
	return errors.Join(err, f.Close()) // which releases the lock
}

// appendLine starts a new line, after a partial one that a crashed process may have left, and
// removes its own line if it cannot be written completely.
func appendLine(f *os.File, line []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := info.Size(); info.Mode().IsRegular() && size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err = f.Write(line); err == nil || !info.Mode().IsRegular() {
		return err
	}
	if back := f.Truncate(info.Size()); back != nil {
		return fmt.Errorf("%w; part of the line may be in the file: %w", err, back)
	}
	return err
}
