package sqlite

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// DeadLetter is a message that was delivered too often.
type DeadLetter struct {
	ID       string
	Attempts int
	Cause    string // of the last return; empty if it only timed out
	At       int64  // when it became a dead letter
	engine.Wakeup
}

// DeadLetters returns up to limit dead letters, oldest first.
func (db *DB) DeadLetters(ctx context.Context, limit int) (letters []DeadLetter, err error) {
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var d DeadLetter
		if err := s.Scan(&d.ID, &d.Attempts, &d.Cause, &d.At, &d.Tenant, &d.Thread, &d.Endpoint); err != nil {
			return dbfile.Unavailable(err)
		}
		letters = append(letters, d)
		return nil
	}, "SELECT id, attempts, cause, at, tenant, thread, endpoint FROM dead ORDER BY at, id LIMIT ?", limit)
	return letters, err
}

// Redrive returns up to limit dead letters to the queue, oldest first, visible now and with no
// attempts counted. It returns how many; each moves once, even with concurrent calls.
func (db *DB) Redrive(ctx context.Context, limit int) (int, error) {
	const query = "DELETE FROM dead WHERE id IN (SELECT id FROM dead ORDER BY at, id LIMIT ?) RETURNING tenant, thread, endpoint"
	return write(ctx, db, func(t *tx) (int, error) {
		var wakeups []engine.Wakeup
		err := t.Each(func(s dbfile.Scanner) error {
			var w engine.Wakeup
			if err := s.Scan(&w.Tenant, &w.Thread, &w.Endpoint); err != nil {
				return dbfile.Unavailable(err)
			}
			wakeups = append(wakeups, w)
			return nil
		}, query, limit)
		if err != nil {
			return 0, err
		}
		for _, w := range wakeups {
			if err := t.send(w, db.now()); err != nil {
				return 0, err
			}
		}
		return len(wakeups), nil
	})
}
