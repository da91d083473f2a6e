package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// UpdateTokens replaces the text of a token file by the result of change, which gets the text and
// its keys. A concurrent reader sees the old or the new file; concurrent updates are applied one
// after the other. A missing file counts as empty, and is created if create is set. The file's mode
// and owner stay; a new file is readable only by its owner. If change returns an error, or a line
// of the file is invalid, the file stays unchanged and UpdateTokens returns the error.
func UpdateTokens(file string, create bool, change func(text string, keys access.Keys) (string, error)) error {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	release, err := lockFile(file + ".lock")
	if err != nil {
		return err
	}
	defer release()
	text, keys, err := ReadTokens(file)
	if err != nil && !(create && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	after, err := change(text, keys)
	if err != nil {
		return err
	}
	return replaceFile(file, after)
}

// ReadTokens reads a file of tokens as a person left it. [access.ErrLines] if a line is wrong.
func ReadTokens(file string) (string, access.Keys, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", access.Keys{}, fmt.Errorf("reading the tokens: %w", err)
	}
	keys, err := access.Parse(file, text)
	return string(text), keys, err
}

// WriteSecret writes a file that only its owner can read, whole or not at all.
func WriteSecret(file, text string) error { return replaceFile(file, text) }

func replaceFile(file, text string) error {
	to, err := os.CreateTemp(filepath.Dir(file), ".tokens-*")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name()) // gone, once it was renamed
	_, err = to.WriteString(text)
	if before, gone := os.Stat(file); gone == nil {
		err = errors.Join(err, to.Chmod(before.Mode().Perm()), keepOwner(to, before))
	}
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	return os.Rename(to.Name(), file)
}
