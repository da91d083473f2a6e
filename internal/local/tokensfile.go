package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// UpdateTokens replaces a file of tokens by what change makes of it: of its text, and of who is let
// in by it. A concurrent reader sees the old or the new file, and of several who
// update it at once each sees what the one before left. A file that is not there is empty, and is
// made if create says so. Its mode and owner stay; a new one is for its owner alone. Nothing is
// changed if change returns an error, which UpdateTokens then returns, or if a line of the file is
// wrong.
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
