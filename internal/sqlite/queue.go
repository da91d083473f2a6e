package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

const receiptLength = 16

// Send implements [engine.Waker].
func (db *DB) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	return exec(ctx, db, func(t *tx) error { return t.send(w, db.now()+delay.Milliseconds()) })
}

// Remind is Send unless a wake-up for the thread stands in the queue that somebody may receive now: it will be enough. Reminders
// that are sent while workers are behind would only put them further behind.
func (db *DB) Remind(ctx context.Context, w engine.Wakeup) error {
	const query = `INSERT INTO queue (tenant, thread, visible_at) SELECT ?1, ?2, ?3
		WHERE NOT EXISTS (SELECT 1 FROM queue WHERE tenant = ?1 AND thread = ?2 AND visible_at <= ?3)`
	return exec(ctx, db, func(t *tx) error {
		_, err := t.exec(query, w.Tenant, w.Thread, db.now())
		t.arrived = true
		return err
	})
}

func (t *tx) send(w engine.Wakeup, visibleAt int64) error {
	_, err := t.exec("INSERT INTO queue (tenant, thread, visible_at) VALUES (?, ?, ?)", w.Tenant, w.Thread, visibleAt)
	t.arrived = true
	return err
}

// Receive implements [engine.Receiver]. When nothing is visible it writes nothing.
func (db *DB) Receive(ctx context.Context, max int) ([]engine.Delivery, error) {
	if max < 1 {
		return nil, nil
	}
	at, some, err := db.NextVisible(ctx)
	if err != nil || !some || at > db.now() {
		return nil, err
	}
	receipt := db.random.Text(receiptLength)
	return write(ctx, db, func(t *tx) ([]engine.Delivery, error) { return db.receive(t, max, receipt) })
}

// receive hands out until it has something or nothing is visible; what was handed out too often goes to the dead letters
// on the way.
func (db *DB) receive(t *tx, max int, receipt string) ([]engine.Delivery, error) {
	for {
		now := db.now()
		taken, err := t.take(now, now+db.visibility.Milliseconds(), max, receipt)
		if err != nil || len(taken) == 0 {
			return nil, err
		}
		var good []engine.Delivery
		for _, d := range taken {
			if d.Attempts <= db.maxAttempts {
				good = append(good, d)
			} else if err := t.bury(d.ID, d.Attempts-1, now); err != nil {
				return nil, err
			}
		}
		if len(good) > 0 {
			return good, nil
		}
	}
}

// take hides the messages first in line under a receipt of their own each.
func (t *tx) take(now, until int64, max int, receipt string) (taken []engine.Delivery, err error) {
	const query = `UPDATE queue SET visible_at = ?1, receipt = ?2 || '.' || id, attempts = attempts + 1
		WHERE id IN (SELECT id FROM queue WHERE visible_at <= ?3 ORDER BY visible_at, id LIMIT ?4)
		RETURNING id, receipt, attempts, tenant, thread`
	err = t.each(func(s scanner) error {
		var d engine.Delivery
		if err := s.Scan(&d.ID, &d.Receipt, &d.Attempts, &d.Tenant, &d.Thread); err != nil {
			return unavailable(err)
		}
		taken = append(taken, d)
		return nil
	}, query, until, receipt, now, max)
	return taken, err
}

// bury moves a message to the dead letters.
func (t *tx) bury(id string, attempts int, now int64) error {
	const bury = `INSERT INTO dead (id, tenant, thread, attempts, cause, at)
		SELECT id, tenant, thread, ?, cause, ? FROM queue WHERE id = ?`
	n, err := messageNumber(id)
	if err != nil {
		return err
	}
	if _, err := t.exec(bury, attempts, now, n); err != nil {
		return err
	}
	_, err = t.exec("DELETE FROM queue WHERE id = ?", n)
	return err
}

// Ack implements [engine.Receiver]. A second Ack of one delivery is refused.
func (db *DB) Ack(ctx context.Context, d engine.Delivery) error {
	id, err := messageNumber(d.ID)
	if err != nil {
		return err
	}
	return exec(ctx, db, func(t *tx) error {
		n, err := t.exec("DELETE FROM queue WHERE id = ? AND receipt = ?", id, d.Receipt)
		if err == nil && n == 0 {
			err = engine.ErrRefused
		}
		return err
	})
}

// Nack implements [engine.Receiver]. After the last attempt the message goes to the dead letters at once.
func (db *DB) Nack(ctx context.Context, d engine.Delivery, delay time.Duration, cause string) error {
	const query = `UPDATE queue SET visible_at = ?, receipt = '', cause = ? WHERE id = ? AND receipt = ? RETURNING attempts`
	id, err := messageNumber(d.ID)
	if err != nil {
		return err
	}
	return exec(ctx, db, func(t *tx) error {
		now, attempts := db.now(), 0
		err := t.row(func(s scanner) error { return s.Scan(&attempts) }, query, now+delay.Milliseconds(), cause, id, d.Receipt)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return engine.ErrRefused
		case err != nil:
			return err
		case attempts >= db.maxAttempts:
			return t.bury(d.ID, attempts, now)
		}
		t.arrived = true
		return nil
	})
}

// messageNumber refuses ids that this queue did not give out.
func messageNumber(id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, engine.ErrRefused
	}
	return n, nil
}

// NextVisible is when the first message is visible, in the past for one that is; false if the queue is empty.
func (db *DB) NextVisible(ctx context.Context) (at int64, some bool, err error) {
	err = db.readOne(ctx, func(s scanner) error { return s.Scan(&at) },
		"SELECT visible_at FROM queue ORDER BY visible_at LIMIT 1")
	if errors.Is(err, engine.ErrNotFound) {
		return 0, false, nil
	}
	return at, err == nil, err
}
