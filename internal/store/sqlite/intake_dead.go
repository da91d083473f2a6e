package sqlite

import "context"

// IntakeCounts says what is in the intake queue.
type IntakeCounts struct {
	Waiting int // put in and not started yet, those that were given back included
	Back    int // of these, given back: the store or the thread was busy, or something failed
	Dead    int
}

// Counts counts a tenant's messages.
func (q *Intake) Counts(ctx context.Context, tenant string) (c IntakeCounts, err error) {
	const query = `SELECT (SELECT count(*) FROM intake WHERE tenant = ?1), (SELECT count(*) FROM intake WHERE tenant = ?1 AND code <> ''),
		(SELECT count(*) FROM intake_dead WHERE tenant = ?1)`
	err = q.db.readOne(ctx, func(s scanner) error { return s.Scan(&c.Waiting, &c.Back, &c.Dead) }, query, tenant)
	return c, err
}

// IntakeLetter is a message that is not started, and why.
type IntakeLetter struct {
	ID     int64
	Body   []byte
	At     int64 // when it was put in
	Since  int64 // a dead one: when it died. One that was given back: when it comes again
	Code   string
	Detail string
}

// Dead returns up to limit of a tenant's dead messages, oldest first.
func (q *Intake) Dead(ctx context.Context, tenant string, limit int) ([]IntakeLetter, error) {
	return q.letters(ctx, "SELECT id, body, at, died, code, detail FROM intake_dead WHERE tenant = ? ORDER BY id LIMIT ?", tenant, limit)
}

// Back returns up to limit of a tenant's messages that were given back, oldest first.
func (q *Intake) Back(ctx context.Context, tenant string, limit int) ([]IntakeLetter, error) {
	return q.letters(ctx, `SELECT id, body, at, visible_at, code, detail FROM intake WHERE tenant = ? AND code <> '' ORDER BY id LIMIT ?`,
		tenant, limit)
}

func (q *Intake) letters(ctx context.Context, query, tenant string, limit int) (letters []IntakeLetter, err error) {
	err = q.db.read(ctx, func(s scanner) error {
		var l IntakeLetter
		if err := s.Scan(&l.ID, &l.Body, &l.At, &l.Since, &l.Code, &l.Detail); err != nil {
			return unavailable(err)
		}
		letters = append(letters, l)
		return nil
	}, query, tenant, limit)
	return letters, err
}

// RetryDead puts a tenant's dead messages back into the queue, visible now and with no attempt
// counted, and returns how many. Each moves once, however often and by how many callers it is
// asked.
func (q *Intake) RetryDead(ctx context.Context, tenant string) (int, error) {
	const back = `INSERT INTO intake (id, tenant, body, at, visible_at) SELECT id, tenant, body, at, ? FROM intake_dead WHERE tenant = ?`
	return write(ctx, q.db, func(t *tx) (int, error) {
		n, err := t.exec(back, q.db.now(), tenant)
		if err == nil {
			_, err = t.exec("DELETE FROM intake_dead WHERE tenant = ?", tenant)
		}
		return int(n), err
	})
}

// DropDead removes a tenant's dead messages for good, and returns how many.
func (q *Intake) DropDead(ctx context.Context, tenant string) (int, error) {
	return write(ctx, q.db, func(t *tx) (int, error) {
		n, err := t.exec("DELETE FROM intake_dead WHERE tenant = ?", tenant)
		return int(n), err
	})
}
