package sqlite

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// tx is a transaction on the store's tables.
type tx struct{ *txfile.Tx }

// write is [txfile.Write] on the store's tables.
func write[T any](ctx context.Context, db *DB, fn func(*tx) (T, error)) (T, error) {
	return txfile.Write(ctx, db.File, func(t *txfile.Tx) (T, error) { return fn(&tx{t}) })
}

// exec is write for an operation without a result.
func exec(ctx context.Context, db *DB, fn func(*tx) error) error {
	_, err := write(ctx, db, func(t *tx) (struct{}, error) { return struct{}{}, fn(t) })
	return err
}

func (db *DB) read(ctx context.Context, scan func(dbfile.Scanner) error, query string, args ...any) error {
	return txfile.Read(ctx, db.File, scan, query, args...)
}

func (db *DB) readOne(ctx context.Context, scan func(dbfile.Scanner) error, query string, args ...any) error {
	return txfile.ReadOne(ctx, db.File, scan, query, args...)
}
