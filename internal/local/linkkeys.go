package local

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// linkKeysFile is in the data directory and has one key per line, in hexadecimal. The first key
// signs new links. To rotate the key without breaking links, add a new first line, and remove the
// old line after the lifetime of a link. Emptying the file breaks all links.
const linkKeysFile = "link.keys"

const linkKeyBytes = 32

// readLinkKeys reads the keys. If there is no file, it first creates one with a new key.
func readLinkKeys(dir string, random func([]byte)) (access.LinkKeys, error) {
	file := filepath.Join(dir, linkKeysFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeLinkKey(file, random); err != nil {
			return nil, fmt.Errorf("creating the approval link key: %w", err)
		}
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the approval link keys: %w", err)
	}
	var keys access.LinkKeys
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		key, err := hex.DecodeString(string(line))
		if err != nil || len(key) < linkKeyBytes {
			return nil, fmt.Errorf("%s:%d: a link key has at least %d hexadecimal digits; remove the line, or remove the file to create a new key", file, n, 2*linkKeyBytes)
		}
		keys = append(keys, key)
	}
	return keys, lines.Err()
}

// withLinkKeys adds the keys of a data directory, as their file has them, to the values to hide: a
// key is enough to sign approval links. A file that cannot be read adds nothing.
func withLinkKeys(values secret.Values, dir string) secret.Values {
	text, err := os.ReadFile(filepath.Join(dir, linkKeysFile))
	if err != nil {
		return values
	}
	for n, key := range strings.Fields(string(text)) {
		values[fmt.Sprintf("LINK_KEY_%d", n+1)] = key
	}
	return values
}

func newLinkKey(random func([]byte)) []byte {
	key := make([]byte, linkKeyBytes)
	random(key)
	return key
}

// makeLinkKey creates the file with a new key, in one step. If another process created it first,
// that file stays.
func makeLinkKey(file string, random func([]byte)) error {
	temp, err := os.CreateTemp(filepath.Dir(file), ".link-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = fmt.Fprintf(temp, "%x\n", newLinkKey(random))
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), file); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// linkKeys returns the keys that sign approval links. If the disk is full, new links work until the
// server stops.
func (o Options) linkKeys() (access.LinkKeys, error) {
	keys, err := readLinkKeys(o.Data, machine.Random{}.Bytes)
	if noRoom(err) {
		o.raw.Warn("cannot store the approval link key: new links stop working when the server stops", "error", err)
		return access.LinkKeys{newLinkKey(machine.Random{}.Bytes)}, nil
	}
	return keys, err
}
