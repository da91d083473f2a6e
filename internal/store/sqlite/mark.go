package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// markEnding is the name of the file beside the database that says what was in it once.
const markEnding = ".mark"

// ErrLost refuses a file that is not the one that was there, or is older: going on with it would
// forget what was acknowledged.
var ErrLost = errors.New("the database is not the one that was here")

// marks writes the file beside the database. It is written after the commit that counts the log, so
// that the database and its log have at least what the mark says of them: without the log they have
// less. The mark may say less, too: a crash comes between, or a disk refuses it. It is flushed when
// it is made and when the database is closed; a flush for each log cost 4 % of the throughput, and
// without it the mark says less after a loss of power. Only the writer calls it.
type marks struct {
	off   bool // there is none, where files need not survive
	store string
	logs  int64 // as the database counts them
	// a flush of the database failed, and since then no start has copied all of the log
	torn bool
}

// advance writes the count into the mark. Where that fails the mark says less than it could. torn
// is as of [marks.heed].
func (m *marks) advance(path string, logs int64) (torn bool) {
	torn = m.heed(path)
	m.logs = logs
	_ = m.write(path, false)
	return torn
}

// heed says whether a flush of the database has failed in another process since the file was opened
// here. The mark goes on saying so.
func (m *marks) heed(path string) (torn bool) {
	marked, there := readMark(path)
	torn = there && marked.torn && !m.torn
	m.torn = m.torn || torn
	return torn
}

// tear remembers that a flush failed, for as long as the machine runs: a loss of power lets
// everything be copied again.
func (m *marks) tear(path string) {
	if !m.off {
		m.torn = true
		_ = m.write(path, false)
	}
}

// write writes over what is there: on a full disk the old mark is replaced, or stays.
func (m *marks) write(path string, flush bool) (err error) {
	f, err := os.OpenFile(path+markEnding, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(m.text(), 0); err != nil || !flush {
		return err
	}
	return f.Sync()
}

// text is the mark: one line of one length, with a sum that tells damage to it from damage to the
// database.
func (m *marks) text() []byte {
	state := "flushed"
	if m.torn {
		state = "torn"
	}
	line := fmt.Sprintf("dormouse %s %020d %-7s", m.store, m.logs, state)
	return fmt.Appendf(nil, "%s %08x\n", line, crc32.ChecksumIEEE([]byte(line)))
}

// readMark is what the mark says; there is false if there is none, or none that can be read.
func readMark(path string) (m marks, there bool) {
	text, err := os.ReadFile(path + markEnding)
	if err != nil {
		return marks{}, false
	}
	var state string
	n, err := fmt.Sscanf(string(text), "dormouse %s %d %s", &m.store, &m.logs, &state)
	m.torn = state == "torn"
	return m, err == nil && n == 3 && string(m.text()) == string(text)
}

// wholeBefore refuses to make a new database where one was before: its mark or its log is there.
func wholeBefore(path string) error {
	log, err := os.Stat(path + "-wal")
	logged := err == nil && log.Size() > 0
	if _, marked := readMark(path); !marked && !logged {
		return nil
	}
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
	switch {
	case missing && logged:
		return fmt.Errorf("%w: there is its write-ahead log, and no database. Bring it back from where it was moved, or from a backup; to begin anew, move all of %s away", ErrLost, filepath.Dir(path))
	case missing:
		return fmt.Errorf("%w: there was a database here, and it is missing. Bring it back from where it was moved, or from a backup; to begin anew, remove %s", ErrLost, path+markEnding)
	}
	return nil
}

// lost says what to do.
func lost(path, what string) error {
	return fmt.Errorf("%w: %s. Bring it back from where it was moved, or from a backup; to go on with what is here, remove %s first", ErrLost, what, path+markEnding)
}

// compare reads what the database says of itself, and holds it against its mark. The mark comes
// first: what it says is in the database then, also if another process counts meanwhile.
func (m *marks) compare(path string, read func(*marks) error) error {
	marked, there := readMark(path)
	if err := read(m); err != nil || !there {
		return err
	}
	switch {
	case marked.store != m.store:
		return lost(path, "another database is in its place")
	case m.logs < marked.logs:
		return lost(path, fmt.Sprintf("it lacks what was stored later, as an older copy does, or one without its %s (it knows of %d logs, and there were %d)",
			filepath.Base(path)+"-wal", m.logs, marked.logs))
	}
	return nil
}

// readFrom reads what the database says of itself; nothing if it has not been named yet.
func (m *marks) readFrom(ctx context.Context, conn *sql.Conn) error {
	err := conn.QueryRowContext(ctx, "SELECT store, logs FROM mark").Scan(&m.store, &m.logs)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// open reads who the database is, names it if it is new, holds it against its mark, and marks it.
func (m *marks) open(ctx context.Context, path string, conn *sql.Conn, random engine.Random) error {
	if _, err := conn.ExecContext(ctx, "INSERT INTO mark (one, store, logs) VALUES (1, ?, 0) ON CONFLICT DO NOTHING", "s_"+random.Text(20)); err != nil {
		return err
	}
	if err := m.compare(path, func(m *marks) error { return m.readFrom(ctx, conn) }); err != nil {
		return err
	}
	if marked, there := readMark(path); there && marked.torn == m.torn {
		return nil
	}
	return m.write(path, true)
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
		if w.db.marks.advance(w.db.path, logs) {
			w.db.end(fmt.Errorf("%w: another server on the same directory has ended after a failed flush of the database", engine.ErrDisk))
		}
	}
}
