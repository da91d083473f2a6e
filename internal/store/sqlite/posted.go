package sqlite

import (
	"context"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// PutPosted implements slack.Messages. It also deletes a few old records.
func (db *DB) PutPosted(ctx context.Context, p notice.Posted) error {
	const put = "INSERT INTO posted (tenant, run, target, suspension, gone, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	const tidy = `DELETE FROM posted WHERE (tenant, run, target, suspension) IN
		(SELECT tenant, run, target, suspension FROM posted WHERE gone <= ? LIMIT 10)`
	return exec(ctx, db, func(t *tx) error {
		if _, err := t.Exec(put, p.Tenant, p.Run, p.Target, p.Suspension, p.Gone(), tables.Text(p)); err != nil {
			return err
		}
		_, err := t.Exec(tidy, db.now())
		return err
	})
}

// Posted implements slack.Messages.
func (db *DB) Posted(ctx context.Context, p notice.Posted) (found notice.Posted, err error) {
	const sel = "SELECT body FROM posted WHERE tenant = ? AND run = ? AND target = ? AND suspension = ?"
	found = notice.Posted{Tenant: p.Tenant, Run: p.Run, Target: p.Target, Suspension: p.Suspension}
	err = db.readOne(ctx, func(s dbfile.Scanner) error {
		var body []byte
		if err := s.Scan(&body); err != nil {
			return dbfile.Unavailable(err)
		}
		if err := json.Unmarshal(body, &found); err != nil {
			return tables.Unreadable("message of "+p.Suspension, err)
		}
		return nil
	}, sel, p.Tenant, p.Run, p.Target, p.Suspension)
	return found, err
}
