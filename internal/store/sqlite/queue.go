package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

const receiptLength = 16

// Send implements [engine.Waker].
func (db *DB) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	return exec(ctx, db, func(t *tx) error { return t.send(w, db.now()+delay.Milliseconds()) })
}

// Remind is like Send, but does nothing if the queue has a visible wake-up for the thread, which is
// enough. Reminders sent while workers are behind would only put them further behind.
func (db *DB) Remind(ctx context.Context, w engine.Wakeup) error {
	const query = `INSERT INTO queue (tenant, thread, endpoint, visible_at) SELECT ?1, ?2, ?3, ?4
		WHERE NOT EXISTS (SELECT 1 FROM queue WHERE tenant = ?1 AND thread = ?2 AND endpoint = ?3 AND visible_at <= ?4)`
	return exec(ctx, db, func(t *tx) error {
		_, err := t.Exec(query, w.Tenant, w.Thread, w.Endpoint, db.now())
		t.Notify(arrival{})
		return err
	})
}

func (t *tx) send(w engine.Wakeup, visibleAt int64) error {
	_, err := t.Exec("INSERT INTO queue (tenant, thread, endpoint, visible_at) VALUES (?, ?, ?, ?)", w.Tenant, w.Thread, w.Endpoint, visibleAt)
	t.Notify(arrival{})
	return err
}

// take hides the tenant's oldest visible message under a new receipt. Messages that were delivered
// too often go to the dead letters on the way. If nothing is left, the delivery is empty and has no
// id.
func (db *DB) take(t *tx, tenant, receipt string) (engine.Delivery, error) {
	for {
		now := db.now()
		d, err := t.hide(tenant, receipt, now, now+db.visibility.Milliseconds())
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return engine.Delivery{}, nil
		case err != nil || d.Attempts <= db.maxAttempts:
			return d, err
		}
		if err := t.bury(d.ID, d.Attempts-1, now); err != nil {
			return engine.Delivery{}, err
		}
	}
}

const deliveryColumns = "id, receipt, attempts, tenant, thread, endpoint"

func (t *tx) hide(tenant, receipt string, now, until int64) (engine.Delivery, error) {
	const query = `UPDATE queue SET visible_at = ?1, receipt = ?2 || '.' || id, attempts = attempts + 1
		WHERE id = (SELECT id FROM queue WHERE tenant = ?3 AND visible_at <= ?4 ORDER BY visible_at, id LIMIT 1)
		RETURNING ` + deliveryColumns
	return t.delivery(query, until, receipt, tenant, now)
}

// delivery runs a query that returns the [deliveryColumns] of at most one message.
func (t *tx) delivery(query string, args ...any) (d engine.Delivery, err error) {
	err = t.Row(func(s dbfile.Scanner) error {
		if err := s.Scan(&d.ID, &d.Receipt, &d.Attempts, &d.Tenant, &d.Thread, &d.Endpoint); err != nil {
			return dbfile.Unavailable(err)
		}
		return nil
	}, query, args...)
	return d, err
}

// bury moves a message to the dead letters.
func (t *tx) bury(id string, attempts int, now int64) error {
	const bury = `INSERT INTO dead (id, tenant, thread, endpoint, attempts, cause, at)
		SELECT id, tenant, thread, endpoint, ?, cause, ? FROM queue WHERE id = ?`
	n, err := messageNumber(id)
	if err != nil {
		return err
	}
	if _, err := t.Exec(bury, attempts, now, n); err != nil {
		return err
	}
	_, err = t.Exec("DELETE FROM queue WHERE id = ?", n)
	return err
}

// Ack implements [engine.Receiver]. A second Ack of a delivery is refused.
func (db *DB) Ack(ctx context.Context, d engine.Delivery) error {
	id, err := messageNumber(d.ID)
	if err != nil {
		return err
	}
	return exec(ctx, db, func(t *tx) error {
		n, err := t.Exec("DELETE FROM queue WHERE id = ? AND receipt = ?", id, d.Receipt)
		if err == nil && n == 0 {
			err = engine.ErrRefused
		}
		return err
	})
}

// Nack implements [engine.Receiver]. After the last attempt the message goes to the dead letters
// immediately.
func (db *DB) Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error {
	const query = `UPDATE queue SET visible_at = ?, receipt = '', cause = ? WHERE id = ? AND receipt = ? RETURNING attempts`
	id, err := messageNumber(d.ID)
	if err != nil {
		return err
	}
	return exec(ctx, db, func(t *tx) error {
		now, attempts := db.now(), 0
		err := t.Row(func(s dbfile.Scanner) error { return s.Scan(&attempts) }, query, now+delay.Milliseconds(), cause, id, d.Receipt)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return engine.ErrRefused
		case err != nil:
			return err
		case attempts >= db.maxAttempts:
			return t.bury(d.ID, attempts, now)
		}
		t.Notify(arrival{})
		return nil
	})
}

// messageNumber refuses ids that this queue did not issue.
func messageNumber(id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, engine.ErrRefused
	}
	return n, nil
}
