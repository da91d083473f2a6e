package sqlite

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

var _ intake.Queue = (*Intake)(nil)

// intakeVisibility is how long a message is hidden after its delivery; its run should have been
// started by then.
const intakeVisibility = 10 * time.Second

// Intake is the intake queue in the file. Unlike the wake-up queue, it holds the only copy of its
// messages. Several processes may send and receive messages. It implements [intake.Queue].
type Intake struct {
	db *DB
	// limit of a tenant's waiting wake-ups, beyond which it gets no messages; 0 for no limit
	most int
}

// Intake returns the file's intake queue.
func (db *DB) Intake() *Intake { return &Intake{db: db} }

// Put adds messages to the queue, all of them or none. They are durable when it returns nil. It
// does not validate them.
func (q *Intake) Put(ctx context.Context, tenant string, bodies [][]byte) error {
	return exec(ctx, q.db, func(t *tx) error {
		now := q.db.now()
		for _, body := range bodies {
			_, err := t.Exec("INSERT INTO intake (tenant, body, at, visible_at) VALUES (?, ?, ?, ?)", tenant, body, now, now)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// takeIn hides the tenant's oldest messages, each under its own receipt. A delivery that timed out
// counts as an attempt, so that a message that crashes the process each time is recognized.
func (t *tx) takeIn(tenant string, now int64, max int, receipt string) (taken []intake.Delivery, err error) {
	const query = `UPDATE intake SET visible_at = ?1, receipt = ?2 || '.' || id, attempts = attempts + 1
		WHERE id IN (SELECT id FROM intake WHERE tenant = ?5 AND visible_at <= ?3 ORDER BY visible_at, id LIMIT ?4)
		RETURNING id, receipt, tenant, body, attempts, returned`
	err = t.Each(func(s dbfile.Scanner) error {
		var d intake.Delivery
		if err := s.Scan(&d.ID, &d.Receipt, &d.Tenant, &d.Body, &d.Attempts, &d.Returned); err != nil {
			return dbfile.Unavailable(err)
		}
		taken = append(taken, d)
		return nil
	}, query, now+intakeVisibility.Milliseconds(), receipt, now, max, tenant)
	return taken, err
}

// Settle implements [intake.Queue].
func (q *Intake) Settle(ctx context.Context, d intake.Delivery, f intake.Result) error {
	id, err := messageNumber(d.ID)
	if err != nil {
		return err
	}
	return exec(ctx, q.db, func(t *tx) error {
		n, err := t.settle(id, d.Receipt, f, q.db.now())
		if err == nil && n == 0 {
			err = engine.ErrRefused
		}
		return err
	})
}

func (t *tx) settle(id int64, receipt string, f intake.Result, now int64) (int64, error) {
	const (
		remove = "DELETE FROM intake WHERE id = ? AND receipt = ?"
		bury   = `INSERT INTO intake_dead (id, tenant, body, at, died, code, detail)
			SELECT id, tenant, body, at, ?, ?, ? FROM intake WHERE id = ? AND receipt = ?`
		giveBack = `UPDATE intake SET visible_at = ?, receipt = '', returned = returned + 1, attempts = attempts * ?, code = ?, detail = ?
			WHERE id = ? AND receipt = ?`
	)
	counts := 0 // a busy store or thread does not count as an attempt
	switch f.Outcome {
	case intake.Failed:
		counts = 1
		fallthrough
	case intake.Busy:
		return t.Exec(giveBack, now+f.After.Milliseconds(), counts, string(f.Code), f.Detail, id, receipt)
	case intake.Dead:
		if n, err := t.Exec(bury, now, string(f.Code), f.Detail, id, receipt); err != nil || n == 0 {
			return n, err
		}
	}
	return t.Exec(remove, id, receipt)
}
