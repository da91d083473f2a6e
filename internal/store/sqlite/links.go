package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

const linkColumns = "SELECT id, body, revoked, revoked_by, code FROM links WHERE tenant = ? AND run = ?"

// PutLink implements frontend.LinkStore. It also deletes a few expired records.
func (db *DB) PutLink(ctx context.Context, l engine.Link) error {
	const put = `INSERT INTO links (tenant, run, id, body, revoked, revoked_by, gone) VALUES (?, ?, ?, ?, 0, '', ?) ON CONFLICT DO NOTHING`
	const tidy = "DELETE FROM links WHERE (tenant, run, id) IN (SELECT tenant, run, id FROM links WHERE gone <= ? LIMIT 10)"
	return exec(ctx, db, func(t *tx) error {
		if _, err := t.Exec(put, l.Tenant, l.Run, l.ID, tables.Text(l), l.Gone()); err != nil {
			return err
		}
		_, err := t.Exec(tidy, db.now())
		return err
	})
}

// Link implements frontend.LinkStore.
func (db *DB) Link(ctx context.Context, tenant, run, id string) (l engine.Link, err error) {
	err = db.readOne(ctx, func(s dbfile.Scanner) error {
		l, err = scanLink(s, tenant, run)
		return err
	}, linkColumns+" AND id = ?", tenant, run, id)
	return l, err
}

// Links implements frontend.LinkStore.
func (db *DB) Links(ctx context.Context, tenant, run string) (links []engine.Link, err error) {
	err = db.read(ctx, func(s dbfile.Scanner) error {
		l, err := scanLink(s, tenant, run)
		links = append(links, l)
		return err
	}, linkColumns+" ORDER BY id", tenant, run)
	return links, err
}

// RevokeLink implements frontend.LinkStore.
func (db *DB) RevokeLink(ctx context.Context, tenant, run, id string, at int64, by string) (engine.Link, error) {
	const revoke = "UPDATE links SET revoked = ?, revoked_by = ? WHERE tenant = ? AND run = ? AND id = ? AND revoked = 0"
	return write(ctx, db, func(t *tx) (l engine.Link, err error) {
		if _, err := t.Exec(revoke, at, by, tenant, run, id); err != nil {
			return l, err
		}
		err = t.Row(func(s dbfile.Scanner) error {
			l, err = scanLink(s, tenant, run)
			return err
		}, linkColumns+" AND id = ?", tenant, run, id)
		if errors.Is(err, sql.ErrNoRows) {
			err = engine.ErrNotFound
		}
		return l, err
	})
}

// SwapLinkCode implements frontend.LinkStore.
func (db *DB) SwapLinkCode(ctx context.Context, tenant, run, id, from, to string) (bool, error) {
	const swap = "UPDATE links SET code = ? WHERE tenant = ? AND run = ? AND id = ? AND code = ?"
	return write(ctx, db, func(t *tx) (bool, error) {
		n, err := t.Exec(swap, to, tenant, run, id, from)
		return n == 1, err
	})
}

func scanLink(s dbfile.Scanner, tenant, run string) (l engine.Link, err error) {
	var body []byte
	if err := s.Scan(&l.ID, &body, &l.Revoked, &l.RevokedBy, &l.Code); err != nil {
		return l, dbfile.Unavailable(err)
	}
	l.Tenant, l.Run = tenant, run
	if err := json.Unmarshal(body, &l); err != nil {
		return l, tables.Unreadable("link "+l.ID, err)
	}
	return l, nil
}
