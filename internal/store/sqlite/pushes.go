package sqlite

import (
	"context"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// PutPushes implements pushes.Store. It also deletes a few old records.
func (db *DB) PutPushes(ctx context.Context, p notice.Pushes) error {
	const put = `INSERT INTO pushes (tenant, task, rev, gone, body) SELECT ?1, ?2, ?3, ?4, ?5
		WHERE ?3 = 1 OR EXISTS (SELECT 1 FROM pushes WHERE tenant = ?1 AND task = ?2)
		ON CONFLICT DO UPDATE SET rev = ?3, gone = ?4, body = ?5 WHERE rev = ?3 - 1`
	const same = "SELECT count(*) FROM pushes WHERE tenant = ?1 AND task = ?2 AND rev = ?3 AND body = ?5 AND ?4 > 0"
	const tidy = "DELETE FROM pushes WHERE (tenant, task) IN (SELECT tenant, task FROM pushes WHERE gone <= ? LIMIT 10)"
	return exec(ctx, db, func(t *tx) error {
		if _, err := t.Exec(tidy, db.now()); err != nil {
			return err
		}
		values := []any{p.Tenant, p.Group, p.Rev, p.Gone(), tables.Text(p)}
		n, err := t.Exec(put, values...)
		if err != nil || n == 1 {
			return err
		}
		var there int
		err = t.Row(func(s dbfile.Scanner) error { return s.Scan(&there) }, same, values...)
		if err == nil && there == 0 {
			err = engine.ErrRefused
		}
		return err
	})
}

// Pushes implements pushes.Store.
func (db *DB) Pushes(ctx context.Context, tenant, group string) (notice.Pushes, error) {
	found := notice.Pushes{Tenant: tenant, Group: group}
	err := db.readOne(ctx, func(s dbfile.Scanner) error {
		var body []byte
		if err := s.Scan(&found.Rev, &body); err != nil {
			return dbfile.Unavailable(err)
		}
		if err := json.Unmarshal(body, &found); err != nil {
			return tables.Unreadable("push notifications of "+group, err)
		}
		return nil
	}, "SELECT rev, body FROM pushes WHERE tenant = ? AND task = ?", tenant, group)
	return found, err
}
