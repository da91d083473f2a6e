package txfile

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
	"syscall"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Tx is the writer's transaction, as one operation sees it.
type Tx struct {
	ctx    context.Context
	stmts  *statements
	counts *counts
	topics []any // of notices
}

// Exec returns how many rows it changed.
func (t *Tx) Exec(query string, args ...any) (int64, error) {
	stmt, err := t.statement(query, args)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, dbfile.Unavailable(err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, dbfile.Unavailable(err)
	}
	return n, nil
}

// Each calls scan for each row, after SQLite has made all changes of the statement.
func (t *Tx) Each(scan func(dbfile.Scanner) error, query string, args ...any) error {
	stmt, err := t.statement(query, args)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return dbfile.Unavailable(err)
	}
	return dbfile.EachRow(rows, scan)
}

// Row scans the first row, or returns [sql.ErrNoRows].
func (t *Tx) Row(scan func(dbfile.Scanner) error, query string, args ...any) error {
	found := false
	err := t.Each(func(s dbfile.Scanner) error {
		found = true
		return scan(s)
	}, query, args...)
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

func (t *Tx) statement(query string, args []any) (*sql.Stmt, error) {
	t.counts.statements.Add(1)
	t.counts.bytes.Add(boundBytes(args))
	stmt, err := t.stmts.get(t.ctx, query)
	if err != nil {
		return nil, dbfile.Unavailable(err)
	}
	return stmt, nil
}

func boundBytes(args []any) int64 {
	n := 0
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return int64(n)
}

// Notify signals those who watch the topic, once the transaction is committed: see [Watch].
func (t *Tx) Notify(topic any) { t.topics = append(t.topics, topic) }

// Read runs a query on the connections for reading, and calls scan for each row. It sees every
// write that was answered before.
func Read(ctx context.Context, f *File, scan func(dbfile.Scanner) error, query string, args ...any) error {
	// held until the rows are read, so that their connection is not replaced meanwhile
	f.mu.RLock()
	defer f.mu.RUnlock()
	if err := f.troubles.over(); errors.Is(err, engine.ErrGone) {
		return err
	}
	if f.reader == nil {
		return dbfile.Unavailable(f.noRoom(syscall.ENOSPC))
	}
	stmt, err := f.reads.get(ctx, query)
	if err != nil {
		return f.note(dbfile.Unavailable(err))
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return f.note(dbfile.Unavailable(err))
	}
	return f.note(dbfile.EachRow(rows, scan))
}

// ReadOne reads the first row, or returns [engine.ErrNotFound].
func ReadOne(ctx context.Context, f *File, scan func(dbfile.Scanner) error, query string, args ...any) error {
	found := false
	err := Read(ctx, f, func(s dbfile.Scanner) error {
		found = true
		return scan(s)
	}, query, args...)
	if err == nil && !found {
		return engine.ErrNotFound
	}
	return err
}

// statements caches prepared queries. Queries are constants of the callers, so the cache does not
// grow.
type statements struct {
	prepare func(ctx context.Context, query string) (*sql.Stmt, error)
	mu      sync.Mutex
	known   map[string]*sql.Stmt
}

func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt, ok := s.known[query]; ok {
		return stmt, nil
	}
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if s.known == nil {
		s.known = map[string]*sql.Stmt{}
	}
	s.known[query] = stmt
	return stmt, nil
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stmt := range s.known {
		stmt.Close()
	}
	s.known = nil
}

func (s *statements) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.known))
}
