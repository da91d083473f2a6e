package recording

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// Append adds a conversation to the end of a file, which is made if it is not there, for its owner
// alone. Several processes may add to one file at once: a line is whole, or is not there. Where
// files cannot be locked, two at the same moment may still mix.
func Append(file string, c Conversation) error {
	var line bytes.Buffer
	if err := Write(&line, []Conversation{c}); err != nil {
		return err
	}
	return withFile(file, func(f *os.File) error { return appendLine(f, line.Bytes()) })
}

// CanAppend says whether [Append] could write to the file now, and makes it if it is not there.
func CanAppend(file string) error { return withFile(file, func(*os.File) error { return nil }) }

func withFile(file string, do func(*os.File) error) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err = lock(f); err == nil {
		err = do(f)
	}
	return errors.Join(err, f.Close()) // which lets go of the lock
}

// appendLine begins a line of its own, behind what a process that died may have left of another,
// and takes back what it could not write to its end.
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
		return fmt.Errorf("%w; a part of the line may be in the file: %w", err, back)
	}
	return err
}
