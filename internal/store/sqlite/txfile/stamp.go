package txfile

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// stamps asks one connection, always the same, what it sees.
type stamps struct {
	mu     sync.Mutex
	conn   *sql.Conn // nil: not opened yet, or it failed
	of     *sql.DB
	opened int // connections so far: their versions can't be compared
}

// Stamp equals an earlier one if no process has committed in between. It is empty where that isn't
// known. It reads no table: SQLite compares the index of its log with what the connection saw.
// Sizes and times of files would not do, since they change before readers see a commit:
//
//	writes to the log ── flushes it, for seconds ── a reader sees the commit
//	                     look: nothing
func (f *File) Stamp(ctx context.Context) string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.writer == nil || f.reader == nil || f.over { // one connection without a writer
		return ""
	}
	return f.stamps.read(context.WithoutCancel(ctx), f.reader)
}

func (s *stamps) read(ctx context.Context, reader *sql.DB) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != reader {
		s.forget()
	}
	if s.conn == nil {
		conn, err := reader.Conn(ctx)
		if err != nil {
			return ""
		}
		s.conn, s.of = conn, reader
		s.opened++
	}
	var version int64
	if err := s.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		s.forget()
		return ""
	}
	return fmt.Sprint(s.opened, " ", version)
}

// close gives the connection back.
func (s *stamps) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
}

func (s *stamps) forget() {
	if s.conn != nil {
		s.conn.Close()
	}
	s.conn, s.of = nil, nil
}
