package sqlite

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// IntakeCounts counts the messages of the intake queue.
type IntakeCounts struct {
	Waiting int // not started yet, including returned ones
	// of these, the ones that were returned: the store or the thread was busy, or an error
	// occurred
	Back int
	Dead int
}

// Counts counts a tenant's messages.
func (q *Intake) Counts(ctx context.Context, tenant string) (c IntakeCounts, err error) {
	const query = `SELECT (SELECT count(*) FROM intake WHERE tenant = ?1), (SELECT count(*) FROM intake WHERE tenant = ?1 AND code <> ''),
		(SELECT count(*) FROM intake_dead WHERE tenant = ?1)`
	err = q.db.readOne(ctx, func(s dbfile.Scanner) error { return s.Scan(&c.Waiting, &c.Back, &c.Dead) }, query, tenant)
	return c, err
}

// IntakeLetter is a message that was not started, with the reason.
type IntakeLetter struct {
	ID     int64
	Body   []byte
	At     int64 // when it was sent
	Since  int64 // for a dead message, when it died; for a returned one, when it is redelivered
	Code   string
	Detail string
}

// Dead returns up to limit of a tenant's dead messages, oldest first.
func (q *Intake) Dead(ctx context.Context, tenant string, limit int) ([]IntakeLetter, error) {
	return q.letters(ctx, "SELECT id, body, at, died, code, detail FROM intake_dead WHERE tenant = ? ORDER BY id LIMIT ?", tenant, limit)
}

// Back returns up to limit of a tenant's returned messages, oldest first.
func (q *Intake) Back(ctx context.Context, tenant string, limit int) ([]IntakeLetter, error) {
	return q.letters(ctx, `SELECT id, body, at, visible_at, code, detail FROM intake WHERE tenant = ? AND code <> '' ORDER BY id LIMIT ?`,
		tenant, limit)
}

func (q *Intake) letters(ctx context.Context, query, tenant string, limit int) (letters []IntakeLetter, err error) {
	err = q.db.read(ctx, func(s dbfile.Scanner) error {
		var l IntakeLetter
		if err := s.Scan(&l.ID, &l.Body, &l.At, &l.Since, &l.Code, &l.Detail); err != nil {
			return dbfile.Unavailable(err)
		}
		letters = append(letters, l)
		return nil
	}, query, tenant, limit)
	return letters, err
}

// RetryDead returns a tenant's dead messages to the queue, visible now and with no attempts
// counted, and returns how many. Each moves once, even with concurrent calls.
func (q *Intake) RetryDead(ctx context.Context, tenant string) (int, error) {
	const back = `INSERT INTO intake (id, tenant, body, at, visible_at) SELECT id, tenant, body, at, ? FROM intake_dead WHERE tenant = ?`
	return write(ctx, q.db, func(t *tx) (int, error) {
		n, err := t.Exec(back, q.db.now(), tenant)
		if err == nil {
			_, err = t.Exec("DELETE FROM intake_dead WHERE tenant = ?", tenant)
		}
		return int(n), err
	})
}

// DropDead deletes a tenant's dead messages permanently, and returns how many.
func (q *Intake) DropDead(ctx context.Context, tenant string) (int, error) {
	return write(ctx, q.db, func(t *tx) (int, error) {
		n, err := t.Exec("DELETE FROM intake_dead WHERE tenant = ?", tenant)
		return int(n), err
	})
}
