package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"syscall"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// tx is the writer's transaction, as one operation sees it.
type tx struct {
	ctx    context.Context
	stmts  *statements
	counts *counts
	news
}

// exec returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
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

// each calls scan for each row, after SQLite has made all changes of the statement.
func (t *tx) each(scan func(scanner) error, query string, args ...any) error {
	stmt, err := t.statement(query, args)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return dbfile.Unavailable(err)
	}
	return eachRow(rows, scan)
}

// row scans the first row, or returns [sql.ErrNoRows].
func (t *tx) row(scan func(scanner) error, query string, args ...any) error {
	found := false
	err := t.each(func(s scanner) error {
		found = true
		return scan(s)
	}, query, args...)
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

func (t *tx) statement(query string, args []any) (*sql.Stmt, error) {
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

type scanner interface{ Scan(dest ...any) error }

func eachRow(rows *sql.Rows, scan func(scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return dbfile.Unavailable(err)
	}
	return nil
}

// read runs a query on the connections for reading. It sees every write that was answered before.
func (db *DB) read(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	// held until the rows are read, so that their connection is not replaced meanwhile
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.troubles.over(); errors.Is(err, engine.ErrGone) {
		return err
	}
	if db.reader == nil {
		return dbfile.Unavailable(db.noRoom(syscall.ENOSPC))
	}
	stmt, err := db.reads.get(ctx, query)
	if err != nil {
		return db.note(dbfile.Unavailable(err))
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return db.note(dbfile.Unavailable(err))
	}
	return db.note(eachRow(rows, scan))
}

// readOne reads the first row, or returns [engine.ErrNotFound].
func (db *DB) readOne(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	found := false
	err := db.read(ctx, func(s scanner) error {
		found = true
		return scan(s)
	}, query, args...)
	if err == nil && !found {
		return engine.ErrNotFound
	}
	return err
}

// statements caches prepared queries. Queries are constants of this package, so the cache does not
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
