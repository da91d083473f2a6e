package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

const selectHead = "SELECT " + tables.HeadColumns + " FROM heads WHERE tenant = ? AND thread = ?"

// head reads a head as the previous operations of the transaction left it, or a zero head if there
// is none.
func (t *tx) head(tenant, thread string) (h core.Head, err error) {
	err = t.Row(func(s dbfile.Scanner) error { return tables.ScanHead(s, &h) }, selectHead, tenant, thread)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Head{}, nil
	}
	return h, err
}

// change updates one head and returns tables.HeadColumns; won reports whether its conditions held.
func (t *tx) change(query string, args ...any) (h core.Head, won bool, err error) {
	err = t.Row(func(s dbfile.Scanner) error { return tables.ScanHead(s, &h) }, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Head{}, false, nil
	}
	return h, err == nil, err
}

// Load implements [engine.Store] and frontend.Store.
func (db *DB) Load(ctx context.Context, tenant, thread string) (h core.Head, err error) {
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return tables.ScanHead(s, &h) }, selectHead, tenant, thread)
	return h, err
}

// listed drops the error of an entry that cannot be read: the list shows its identity, and the
// other entries stay visible.
func listed(err error) error {
	if errors.Is(err, engine.ErrUnreadable) || errors.Is(err, engine.ErrNewerSchema) {
		return nil
	}
	return err
}
