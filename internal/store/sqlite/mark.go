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

// markEnding is the name of the mark, a file beside the database that says what the database
// contained.
const markEnding = ".mark"

// ErrLost refuses a file that is another database or an older copy: continuing with it would forget
// acknowledged data.
var ErrLost = errors.New("the database is not the one that was here")

// marks writes the mark. It is written after the commit that counts the log, so the database
// together with its log has at least what the mark says; without the log it has less. The mark may
// lag behind, because a crash can come in between or a disk can refuse the write. It is flushed
// when it is created and when the database is closed; a flush for each log cost 4 % of the
// throughput, and without it the mark lags after a power loss. Only the writer uses it.
type marks struct {
	off   bool // no mark, where files need not survive
	store string
	logs  int64 // as counted by the database
	// a flush of the database failed, and no start has copied all of the log since
	torn bool
}

// advance writes the count to the mark. If that fails, the mark lags behind. torn is as in
// [marks.heed].
func (m *marks) advance(path string, logs int64) (torn bool) {
	torn = m.heed(path)
	m.logs = logs
	_ = m.write(path, false)
	return torn
}

// heed reports whether a flush of the database has failed in another process since the file was
// opened here. The mark keeps that information.
func (m *marks) heed(path string) (torn bool) {
	marked, there := readMark(path)
	torn = there && marked.torn && !m.torn
	m.torn = m.torn || torn
	return torn
}

// tear records that a flush failed, until the machine restarts: after a power loss everything is
// copied again.
func (m *marks) tear(path string) {
	if !m.off {
		m.torn = true
		_ = m.write(path, false)
	}
}

// write overwrites the mark in place: on a full disk the old one is replaced or stays.
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

// text returns the content of the mark: one line of constant length, with a checksum that
// distinguishes a damaged mark from a damaged database.
func (m *marks) text() []byte {
	state := "flushed"
	if m.torn {
		state = "torn"
	}
	line := fmt.Sprintf("dormouse %s %020d %-7s", m.store, m.logs, state)
	return fmt.Appendf(nil, "%s %08x\n", line, crc32.ChecksumIEEE([]byte(line)))
}

// readMark reads the mark; there is false if it does not exist or cannot be read.
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

// wholeBefore refuses to create a database where one existed before, because its mark or its log
// exists.
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
		return fmt.Errorf("%w: its write-ahead log exists, but the database is missing; restore it from where it was moved or from a backup, or, to start with an empty store, move everything out of %s", ErrLost, filepath.Dir(path))
	case missing:
		return fmt.Errorf("%w: a database was here and is missing; restore it from where it was moved or from a backup, or, to start with an empty store, remove %s", ErrLost, path+markEnding)
	}
	return nil
}

// lost builds an [ErrLost] that says what to do.
func lost(path, what string) error {
	return fmt.Errorf("%w: %s; restore it from where it was moved or from a backup, or, to continue with the present database, remove %s first", ErrLost, what, path+markEnding)
}

// compare compares what the database says about itself with its mark. It reads the mark first: the
// database then has at least what the mark says, even if another process counts meanwhile.
func (m *marks) compare(path string, read func(*marks) error) error {
	marked, there := readMark(path)
	if err := read(m); err != nil || !there {
		return err
	}
	switch {
	case marked.store != m.store:
		return lost(path, "another database is in its place")
	case m.logs < marked.logs:
		return lost(path, fmt.Sprintf("it lacks later data, because it is an older copy or its %s is missing (it knows %d logs of %d)",
			filepath.Base(path)+"-wal", m.logs, marked.logs))
	}
	return nil
}

// readFrom reads what the database says about itself, or nothing if it has no name yet.
func (m *marks) readFrom(ctx context.Context, conn *sql.Conn) error {
	err := conn.QueryRowContext(ctx, "SELECT store, logs FROM mark").Scan(&m.store, &m.logs)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// open reads the name of the database, names it if it is new, compares it with its mark, and
// updates the mark.
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

// count counts the log in a transaction, unless one in the log has already done so.
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

// counted records that the log is counted, after the commit; 0 means that it was counted before.
func (w *writer) counted(logs int64) {
	if logs != 0 {
		w.log.counted = true
		if w.db.marks.advance(w.db.path, logs) {
			w.db.end(fmt.Errorf("%w: another server on the same directory ended after a failed flush of the database", engine.ErrDisk))
		}
	}
}
