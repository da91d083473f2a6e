// Package mark keeps the mark of a database: a file beside it that says what the database
// contained. It recognizes a database that was replaced by another one or by an older copy.
package mark

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

// ending follows the name of the database in the name of its mark.
const ending = ".mark"

// CountLog counts a write-ahead log in the database and returns the count.
const CountLog = "UPDATE mark SET logs = logs + 1 RETURNING logs"

// ErrLost refuses a file that is another database or an older copy: continuing with it would forget
// acknowledged data.
var ErrLost = errors.New("the database is not the one that was here")

// Mark is the mark of one database. It is written after the commit that counts the log, so the
// database together with its log has at least what the mark says; without the log it has less. The
// mark may lag behind, because a crash can come in between or a disk can refuse the write. It is
// flushed when it is created and when the database is closed; a flush for each log cost 4 % of the
// throughput, and without it the mark lags after a power loss. A Mark is not safe for concurrent
// use.
type Mark struct {
	Path string // of the database
	Off  bool   // no mark, where files need not survive
	// Torn: a flush of the database failed, and no start has copied all of the log since
	Torn bool

	store string
	logs  int64 // as counted by the database
}

// Advance writes the count to the mark. If that fails, the mark lags behind. torn reports that a
// flush of the database has failed in another process since the file was opened here.
func (m *Mark) Advance(logs int64) (torn bool) {
	torn = m.heed()
	m.logs = logs
	_ = m.write(false)
	return torn
}

// heed reports whether a flush of the database has failed in another process since the file was
// opened here. The mark keeps that information.
func (m *Mark) heed() (torn bool) {
	marked, there := Read(m.Path)
	torn = there && marked.Torn && !m.Torn
	m.Torn = m.Torn || torn
	return torn
}

// Tear records that a flush failed, until the machine restarts: after a power loss everything is
// copied again.
func (m *Mark) Tear() {
	if !m.Off {
		m.Torn = true
		_ = m.write(false)
	}
}

// Flush writes the mark and flushes it. If that fails, the mark lags behind.
func (m *Mark) Flush() {
	m.heed()
	_ = m.write(true)
}

// write overwrites the mark in place: on a full disk the old one is replaced or stays.
func (m *Mark) write(flush bool) (err error) {
	f, err := os.OpenFile(m.Path+ending, os.O_CREATE|os.O_RDWR, 0o600)
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
func (m *Mark) text() []byte {
	state := "flushed"
	if m.Torn {
		state = "torn"
	}
	line := fmt.Sprintf("dormouse %s %020d %-7s", m.store, m.logs, state)
	return fmt.Appendf(nil, "%s %08x\n", line, crc32.ChecksumIEEE([]byte(line)))
}

// Read reads the mark of the database at path; there is false if it does not exist or cannot be
// read.
func Read(path string) (m Mark, there bool) {
	m.Path = path
	text, err := os.ReadFile(path + ending)
	if err != nil {
		return m, false
	}
	var state string
	n, err := fmt.Sscanf(string(text), "dormouse %s %d %s", &m.store, &m.logs, &state)
	m.Torn = state == "torn"
	return m, err == nil && n == 3 && string(m.text()) == string(text)
}

// WholeBefore refuses to create a database where one existed before, because its mark or its log
// exists.
func WholeBefore(path string) error {
	log, err := os.Stat(path + "-wal")
	logged := err == nil && log.Size() > 0
	if _, marked := Read(path); !marked && !logged {
		return nil
	}
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
	switch {
	case missing && logged:
		return fmt.Errorf("%w: its write-ahead log exists, but the database is missing; restore it from where it was moved or from a backup, or, to start with an empty store, move everything out of %s", ErrLost, filepath.Dir(path))
	case missing:
		return fmt.Errorf("%w: a database was here and is missing; restore it from where it was moved or from a backup, or, to start with an empty store, remove %s", ErrLost, path+ending)
	}
	return nil
}

// lost builds an [ErrLost] that says what to do.
func lost(path, what string) error {
	return fmt.Errorf("%w: %s; restore it from where it was moved or from a backup, or, to continue with the present database, remove %s first", ErrLost, what, path+ending)
}

// Compare compares what the database says about itself with its mark; conn is nil if the database
// has no tables. It reads the mark first: the database then has at least what the mark says, even
// if another process counts meanwhile.
func (m *Mark) Compare(ctx context.Context, conn *sql.Conn) error {
	marked, there := Read(m.Path)
	if err := m.readFrom(ctx, conn); err != nil || !there {
		return err
	}
	switch {
	case marked.store != m.store:
		return lost(m.Path, "another database is in its place")
	case m.logs < marked.logs:
		return lost(m.Path, fmt.Sprintf("it lacks later data, because it is an older copy or its %s is missing (it knows %d logs of %d)",
			filepath.Base(m.Path)+"-wal", m.logs, marked.logs))
	}
	return nil
}

// readFrom reads what the database says about itself, or nothing if it has no name yet.
func (m *Mark) readFrom(ctx context.Context, conn *sql.Conn) error {
	if conn == nil {
		return nil
	}
	err := conn.QueryRowContext(ctx, "SELECT store, logs FROM mark").Scan(&m.store, &m.logs)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// Open reads the name of the database, names it if it is new, compares it with its mark, and
// updates the mark.
func (m *Mark) Open(ctx context.Context, conn *sql.Conn, random engine.Random) error {
	if m.Off {
		return nil
	}
	if _, err := conn.ExecContext(ctx, "INSERT INTO mark (one, store, logs) VALUES (1, ?, 0) ON CONFLICT DO NOTHING", "s_"+random.Text(20)); err != nil {
		return err
	}
	if err := m.Compare(ctx, conn); err != nil {
		return err
	}
	if marked, there := Read(m.Path); there && marked.Torn == m.Torn {
		return nil
	}
	return m.write(true)
}
