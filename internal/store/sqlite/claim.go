package sqlite

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// claimHead has the conditions of [core.Head.Claimable]. It also requires that the claim differs,
// so that a late copy of a claim cannot take a run that has been released since; whether a refused
// claim is the caller's own is decided afterwards.
const claimHead = `UPDATE heads SET epoch = epoch + 1, rev = rev + 1, lease = ?1, claim = ?2, st = 1, tries = tries + 1, due = ?3
	WHERE tenant = ?4 AND thread = ?5 AND v <= ?6 AND (lease = 0 OR lease < ?7) AND claim <> ?2 AND (
		st IN (0, 1) AND (not_before <= ?7 OR ` + inboxFilled + `)
		OR st = 2 AND (dl <> 0 AND dl <= ?7 OR ` + inboxFilled + `))
	RETURNING ` + tables.HeadColumns

const inboxFilled = `EXISTS (SELECT 1 FROM inbox WHERE inbox.tenant = heads.tenant AND inbox.thread = heads.thread)`

// Claim implements [engine.Store].
func (db *DB) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	return write(ctx, db, func(t *tx) (core.Head, error) {
		h, won, err := t.claim(req)
		if won || err != nil {
			return h, err
		}
		return t.refuseClaim(req)
	})
}

func (t *tx) claim(req engine.ClaimRequest) (h core.Head, won bool, err error) {
	return t.change(claimHead, req.LeaseEnd, req.Claim, req.Due, req.Tenant, req.Thread, req.Schema, req.Now)
}

func (t *tx) refuseClaim(req engine.ClaimRequest) (core.Head, error) {
	old, err := t.head(req.Tenant, req.Thread)
	switch {
	case err != nil:
		return core.Head{}, err
	case old.Thread == "":
		return core.Head{}, engine.ErrRefused
	case old.Claim == req.Claim && old.Lease != 0:
		return old, nil
	case old.Claimable(req.Now, req.Claim): // so the schema was the reason
		return old, engine.ErrNewerSchema
	}
	return old, engine.ErrRefused
}

// TakeOverdue implements [engine.Overdue].
func (db *DB) TakeOverdue(ctx context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	const heads = `UPDATE heads SET due = ?1 WHERE rowid IN
		(SELECT rowid FROM heads WHERE due > 0 AND due <= ?2 ORDER BY due LIMIT ?3) RETURNING tenant, thread, ''`
	const lines = `UPDATE delivery_lines SET due = ?1 WHERE rowid IN
		(SELECT rowid FROM delivery_lines WHERE due > 0 AND due <= ?2 ORDER BY due LIMIT ?3) RETURNING tenant, thread, endpoint`
	return write(ctx, db, func(t *tx) (taken []engine.Wakeup, err error) {
		for _, query := range []string{heads, lines} {
			err = t.Each(func(s dbfile.Scanner) error {
				var w engine.Wakeup
				if err := s.Scan(&w.Tenant, &w.Thread, &w.Endpoint); err != nil {
					return dbfile.Unavailable(err)
				}
				taken = append(taken, w)
				return nil
			}, query, next, now, limit-len(taken))
			if err != nil {
				return taken, err
			}
		}
		return taken, nil
	})
}

// FreeLeases ends every lease, makes its run due now, and returns how many there were. Messages
// that other processes had received become visible again. Call it only if no other process is
// alive: a living owner is not notified, and its epoch stops it only once another worker has
// claimed the run. A lease is found by its due time, which every claim sets.
func (db *DB) FreeLeases(ctx context.Context) (int, error) {
	const free = "UPDATE heads SET lease = 0, due = ? WHERE due > 0 AND lease <> 0 AND st <> 3"
	const freeLines = "UPDATE delivery_lines SET lease = 0, due = ? WHERE due > 0 AND lease <> 0"
	const show = "UPDATE queue SET visible_at = ?1, receipt = '' WHERE receipt <> '' AND visible_at > ?1"
	const showIntake = "UPDATE intake SET visible_at = ?1, receipt = '' WHERE receipt <> '' AND visible_at > ?1"
	return write(ctx, db, func(t *tx) (int, error) {
		n, err := t.Exec(free, db.now())
		if err != nil {
			return 0, err
		}
		if _, err := t.Exec(freeLines, db.now()); err != nil {
			return 0, err
		}
		for _, show := range []string{show, showIntake} {
			if _, err := t.Exec(show, db.now()); err != nil {
				return 0, err
			}
		}
		t.Notify(arrival{})
		return int(n), nil
	})
}
