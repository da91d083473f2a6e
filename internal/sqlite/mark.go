package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// schemaMark: the one row names the store, and counts how often its log was copied whole.
const schemaMark = `CREATE TABLE mark (one INTEGER PRIMARY KEY CHECK (one = 1), store TEXT NOT NULL, copies INTEGER NOT NULL);`

// markEnding is the name of the file beside the database that says what was in it once.
const markEnding = ".mark"

// ErrLost refuses a file that is not the one that was there, or is older: going on with it would forget what was acknowledged.
var ErrLost = errors.New("the database is not the one that was here")

// marks writes the file beside the database. It is written after a copy of the log, so that the database has at least what the mark says
// of it. It may say less: a crash comes between, or a disk refuses it. It is flushed when it is made and when the database is closed; a
// flush after each copy cost 4 % of the throughput, and without it a loss of power makes the mark say less, too. Only the writer calls it.
type marks struct {
	off   bool // there is none, where files need not survive
	store string
}

// advance says in the mark that the log was copied so often.
func (m *marks) advance(path string, copies int64, flush bool) error {
	if m.off {
		return nil
	}
	return writeMark(path, m.store, copies, flush)
}

// writeMark writes over what is there: on a full disk the old mark is replaced, or stays.
func writeMark(path, store string, copies int64, flush bool) (err error) {
	f, err := os.OpenFile(path+markEnding, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(markText(store, copies), 0); err != nil || !flush {
		return err
	}
	return f.Sync()
}

func markText(store string, copies int64) []byte {
	return fmt.Appendf(nil, "dormouse %s %020d\n", store, copies)
}

// readMark is what the mark says; there is false if there is none, or none that can be read.
func readMark(path string) (store string, copies int64, there bool) {
	text, err := os.ReadFile(path + markEnding)
	if err != nil {
		return "", 0, false
	}
	n, err := fmt.Sscanf(string(text), "dormouse %s %d", &store, &copies)
	return store, copies, err == nil && n == 2
}

// wholeBefore refuses to make a new database where one was before.
func wholeBefore(path string) error {
	if _, _, there := readMark(path); !there {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return lost(path, "there was a database here, and it is missing")
	}
	return nil
}

// lost says what to do.
func lost(path, what string) error {
	return fmt.Errorf("%w: %s. Bring it back from where it was moved, or from a backup; to go on with what is here, remove %s first", ErrLost, what, path+markEnding)
}

// compare holds the database against its mark.
func (m *marks) compare(path, store string, copies int64) error {
	marked, at, there := readMark(path)
	switch {
	case !there:
		return nil
	case marked != store:
		return lost(path, "another database is in its place")
	case copies < at:
		return lost(path, fmt.Sprintf("it lacks what was stored later (the log was copied %d times, and it knows of %d)", at, copies))
	}
	return nil
}

// open reads who the database is, names it if it is new, holds it against its mark, and marks it.
func (m *marks) open(ctx context.Context, path string, conn *sql.Conn, random engine.Random) error {
	var copies int64
	if _, err := conn.ExecContext(ctx, "INSERT INTO mark (one, store, copies) VALUES (1, ?, 0) ON CONFLICT DO NOTHING", "s_"+random.Text(20)); err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, "SELECT store, copies FROM mark").Scan(&m.store, &copies); err != nil {
		return err
	}
	if err := m.compare(path, m.store, copies); err != nil {
		return err
	}
	if _, _, there := readMark(path); there {
		return nil
	}
	return writeMark(path, m.store, copies, true)
}

// count adds to the transaction that the log will be copied after it, if that is due.
func (w *writer) count(ctx context.Context) (due bool, copies int64, err error) {
	if w.log.pages < w.db.copyPages {
		return false, 0, nil
	}
	if w.db.marks.off {
		return true, 0, nil
	}
	stmt, err := w.stmts.get(ctx, "UPDATE mark SET copies = copies + 1 RETURNING copies")
	if err == nil {
		err = stmt.QueryRowContext(ctx).Scan(&copies)
	}
	return true, copies, err
}
