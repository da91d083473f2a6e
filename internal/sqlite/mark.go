package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// schemaMark: the one row names the store, and counts its write-ahead logs. The first transaction that is added to a log after it was copied
// whole, or after the file was opened, counts it.
const schemaMark = `CREATE TABLE mark (one INTEGER PRIMARY KEY CHECK (one = 1), store TEXT NOT NULL, logs INTEGER NOT NULL);`

// markEnding is the name of the file beside the database that says what was in it once.
const markEnding = ".mark"

// ErrLost refuses a file that is not the one that was there, or is older: going on with it would forget what was acknowledged.
var ErrLost = errors.New("the database is not the one that was here")

// marks writes the file beside the database. It is written after the commit that counts the log, so that the database and its log have at
// least what the mark says of them: without the log they have less. The mark may say less, too: a crash comes between, or a disk refuses
// it. It is flushed when it is made and when the database is closed; a flush for each log cost 4 % of the throughput, and without it the mark
// says less after a loss of power. Only the writer calls it.
type marks struct {
	off   bool // there is none, where files need not survive
	store string
	logs  int64 // as the database counts them
}

// advance writes the count into the mark. Where that fails the mark says less than it could.
func (m *marks) advance(path string, logs int64) {
	m.logs = logs
	_ = writeMark(path, m.store, logs, false)
}

// flush makes the mark durable.
func (m *marks) flush(path string) error { return writeMark(path, m.store, m.logs, true) }

// writeMark writes over what is there: on a full disk the old mark is replaced, or stays.
func writeMark(path, store string, logs int64, flush bool) (err error) {
	f, err := os.OpenFile(path+markEnding, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(markText(store, logs), 0); err != nil || !flush {
		return err
	}
	return f.Sync()
}

func markText(store string, logs int64) []byte {
	return fmt.Appendf(nil, "dormouse %s %020d\n", store, logs)
}

// readMark is what the mark says; there is false if there is none, or none that can be read.
func readMark(path string) (store string, logs int64, there bool) {
	text, err := os.ReadFile(path + markEnding)
	if err != nil {
		return "", 0, false
	}
	n, err := fmt.Sscanf(string(text), "dormouse %s %d", &store, &logs)
	return store, logs, err == nil && n == 2
}

// wholeBefore refuses to make a new database where one was before.
func wholeBefore(path string) error {
	if _, _, there := readMark(path); !there {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return fmt.Errorf("%w: there was a database here, and it is missing. Bring it back from where it was moved, or from a backup; to begin anew, remove %s", ErrLost, path+markEnding)
	}
	return nil
}

// lost says what to do.
func lost(path, what string) error {
	return fmt.Errorf("%w: %s. Bring it back from where it was moved, or from a backup; to go on with what is here, remove %s first", ErrLost, what, path+markEnding)
}

// compare holds the database against its mark.
func (m *marks) compare(path, store string, logs int64) error {
	marked, at, there := readMark(path)
	switch {
	case !there:
		return nil
	case marked != store:
		return lost(path, "another database is in its place")
	case logs < at:
		return lost(path, fmt.Sprintf("it lacks what was stored later, as an older copy does, or one without its %s (it knows of %d logs, and there were %d)",
			filepath.Base(path)+"-wal", logs, at))
	}
	return nil
}

// open reads who the database is, names it if it is new, holds it against its mark, and marks it.
func (m *marks) open(ctx context.Context, path string, conn *sql.Conn, random engine.Random) error {
	if _, err := conn.ExecContext(ctx, "INSERT INTO mark (one, store, logs) VALUES (1, ?, 0) ON CONFLICT DO NOTHING", "s_"+random.Text(20)); err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, "SELECT store, logs FROM mark").Scan(&m.store, &m.logs); err != nil {
		return err
	}
	if err := m.compare(path, m.store, m.logs); err != nil {
		return err
	}
	if _, _, there := readMark(path); there {
		return nil
	}
	return m.flush(path)
}

// count counts the log in a transaction, if none that is in it has.
func (w *writer) count(ctx context.Context) (logs int64, err error) {
	if w.log.counted || w.db.marks.off {
		return 0, nil
	}
	stmt, err := w.stmts.get(ctx, "UPDATE mark SET logs = logs + 1 RETURNING logs")
	if err == nil {
		err = stmt.QueryRowContext(ctx).Scan(&logs)
	}
	return logs, err
}

// counted writes down that the log is counted, once that is committed; 0: it was before.
func (w *writer) counted(logs int64) {
	if logs != 0 {
		w.log.counted = true
		w.db.marks.advance(w.db.path, logs)
	}
}
