package refunddesk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Ledger is a file of refunds, one JSON value a line. It writes down every refund it is told of and
// does not look for repeats: a refund that happened twice is there twice, for all to see.
type Ledger struct{ Path string }

// Entry is one refund. Key is the idempotency key of the call that issued it.
type Entry struct {
	Key    string `json:"key"`
	Order  string `json:"order"`
	Amount int    `json:"amount"`
}

// Append adds an entry; it is on the disk when Append returns without an error.
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

// Entries reads the ledger from its beginning; a ledger that was never written is empty.
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
