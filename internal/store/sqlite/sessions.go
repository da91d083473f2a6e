package sqlite

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// EndSession implements session.Ended. It also deletes a few records of expired sessions.
func (db *DB) EndSession(ctx context.Context, id string, expires time.Time) error {
	const tidy = "DELETE FROM ended_sessions WHERE id IN (SELECT id FROM ended_sessions WHERE gone <= ? LIMIT 10)"
	return exec(ctx, db, func(t *tx) error {
		if _, err := t.Exec(tidy, db.now()); err != nil {
			return err
		}
		_, err := t.Exec("INSERT INTO ended_sessions (id, gone) VALUES (?, ?) ON CONFLICT DO NOTHING", id, expires.UnixMilli())
		return err
	})
}

// SessionEnded implements session.Ended.
func (db *DB) SessionEnded(ctx context.Context, id string) (ended bool, err error) {
	err = db.readOne(ctx, func(s dbfile.Scanner) error {
		if err := s.Scan(&ended); err != nil {
			return dbfile.Unavailable(err)
		}
		return nil
	}, "SELECT EXISTS (SELECT 1 FROM ended_sessions WHERE id = ?)", id)
	return ended, err
}
