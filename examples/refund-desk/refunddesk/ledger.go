package refunddesk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Ledger is a file of refunds, with one JSON value per line. It doesn't detect repeats: a refund
// that was issued twice is visible twice.
type Ledger struct{ Path string }

// Entry is one refund. Key is the idempotency key of the call that issued it.
type Entry struct {
	Key    string `json:"key"`
	Order  string `json:"order"`
	Amount int    `json:"amount"`
}

// Append adds an entry and returns once it is on disk.
func (l Ledger) Append(e Entry) (err error) {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(l.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Sync()
}

// Entries reads the entire ledger. A file that does not exist is an empty ledger.
func (l Ledger) Entries() (entries []Entry, err error) {
	f, err := os.Open(l.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for lines := bufio.NewScanner(f); ; {
		if !lines.Scan() {
			return entries, lines.Err()
		}
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return entries, fmt.Errorf("%s, line %d: %w", l.Path, len(entries)+1, err)
		}
		entries = append(entries, e)
	}
}
