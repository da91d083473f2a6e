package sqlite

import (
	"database/sql"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// settle acknowledges the delivery of a step whose release is in the transaction. It sends the
// wake-up, or, if no message is visible, receives it at once and claims the run again.
func (db *DB) settle(t *tx, left core.Head, req engine.CommitRequest, now int64) (engine.Written, error) {
	id, err := messageNumber(req.Settle.Delivery.ID)
	if err != nil {
		return engine.Written{}, err
	}
	w := engine.Written{Head: left, Settled: true}
	if claim := req.Settle.Claim; claim != nil && req.Wake != nil {
		w.Next, err = db.goOn(t, id, req, now)
		if w.Next != nil || err != nil {
			w.Woken = true
			t.Notify(place{left.Tenant, left.Thread})
			return w, err
		}
	}
	if _, err := t.Exec("DELETE FROM queue WHERE id = ? AND receipt = ?", id, req.Settle.Delivery.Receipt); err != nil {
		return w, err
	}
	sent, err := t.written(left, req.Wake, now)
	w.Woken = sent.Woken
	return w, err
}

// goOn makes the delivery's row the one of the next wake-up, received under the claim's id, and
// claims the run. It returns nil, and has changed nothing, if a message waits for its turn or the
// run cannot be claimed.
func (db *DB) goOn(t *tx, id int64, req engine.CommitRequest, now int64) (*engine.Taken, error) {
	const again = `UPDATE queue SET visible_at = ?1, receipt = ?2 || '.' || id, attempts = 1, cause = ''
		WHERE id = ?3 AND receipt = ?4 RETURNING ` + deliveryColumns
	claim := *req.Settle.Claim
	var others bool
	err := t.Row(func(s dbfile.Scanner) error { return s.Scan(&others) }, anyVisible, now)
	if err != nil || others {
		return nil, err
	}
	head, won, err := t.claim(claim)
	if err != nil || !won {
		return nil, err
	}
	d, err := t.delivery(again, now+db.visibility.Milliseconds(), claim.Claim, id, req.Settle.Delivery.Receipt)
	return takenAs(d, head, err)
}

// takenAs is a claimed run with its delivery. If that is another receiver's by now, the run has
// none: its owner sends the next wake-up, and should it be lost, the sweep finds the run.
func takenAs(d engine.Delivery, head core.Head, err error) (*engine.Taken, error) {
	if errors.Is(err, sql.ErrNoRows) {
		d, err = engine.Delivery{Wakeup: engine.Wakeup{Tenant: head.Tenant, Thread: head.Thread}}, nil
	}
	return &engine.Taken{Delivery: d, Head: head}, err
}

var anyVisible = lineOf("queue") + " SELECT EXISTS (SELECT 1 FROM line WHERE visible_at <= ?)"

// wentOn reports whether the claim of a commit that landed still owns the run.
func wentOn(old core.Head, req engine.CommitRequest) bool {
	s := req.Settle
	return s != nil && s.Claim != nil && old.Claim == s.Claim.Claim && old.Lease != 0 && old.Epoch == req.Next.Epoch+1
}

// alreadyOn is the answer to a repeat of a commit that went on.
func (t *tx) alreadyOn(old core.Head, req engine.CommitRequest) (engine.Written, error) {
	const mine = "SELECT " + deliveryColumns + " FROM queue WHERE tenant = ? AND thread = ? AND receipt = ? || '.' || id"
	d, err := t.delivery(mine, old.Tenant, old.Thread, old.Claim)
	next, err := takenAs(d, old, err)
	return engine.Written{Head: old, Woken: true, Settled: true, Next: next}, err
}
