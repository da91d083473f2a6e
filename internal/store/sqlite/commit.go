package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

const commitHead = `UPDATE heads SET rev = ?1, cid = ?2, seq = ?3, seg = ?4, ev = ?5, v = ?6, st = ?7, lease = ?8, tries = ?9,
	dl = ?10, not_before = ?11, nsus = ?12, has_end = ?13, oldest = ?14, calls = ?15, timed = ?16, body = ?17,
	due = coalesce(?18, due), urgent = ?25, asks = ?26, at = ?27
	WHERE tenant = ?19 AND thread = ?20 AND epoch = ?21 AND rev = ?22 AND (?23 OR sigs = ?24)
	RETURNING ` + tables.HeadColumns

// Commit implements [engine.Store]. It sends the requested wake-up in the same transaction, settles
// the delivery in it, and goes on.
func (db *DB) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if s := req.Segment; s != nil && (s.Seq != req.Next.Seq || s.W != req.Next.CID) {
		return engine.Written{}, fmt.Errorf("sqlite: segment %d (%d) does not belong to a commit of %d (%d)", s.Seq, s.W, req.Next.Seq,
			req.Next.CID)
	}
	if err := req.Check(); err != nil {
		return engine.Written{}, err
	}
	rows := commitRows{head: commitArgs(req), segment: segmentArgs(req), marks: marksOf(req.Segment)}
	w, err := write(ctx, db, func(t *tx) (engine.Written, error) { return db.commit(t, req, rows) })
	if w.Next != nil {
		db.turns.serve(w.Next.Tenant)
	}
	return w, err
}

// commitRows are the arguments of a commit's statements. The caller builds them, because every
// caller waits for the writer.
type commitRows struct {
	head, segment []any
	marks         core.FeedMarks
}

func (db *DB) commit(t *tx, req engine.CommitRequest, rows commitRows) (engine.Written, error) {
	now := db.now()
	head, won, err := t.change(commitHead, rows.head...)
	if err != nil {
		return engine.Written{}, err
	}
	if !won {
		return t.refuseCommit(req)
	}
	if err := t.putSegment(req.Next.Tenant, rows, now); err != nil {
		return engine.Written{}, err
	}
	if err := t.drain(&head, req.Drained); err != nil {
		return engine.Written{}, err
	}
	if err := t.changeVotes(&head, req.Votes); err != nil {
		return engine.Written{}, err
	}
	if req.Settle != nil {
		return db.settle(t, head, req, now)
	}
	return t.written(head, req.Wake, now)
}

func commitArgs(req engine.CommitRequest) []any {
	h := req.Next
	var due any
	if req.Due != nil {
		due = *req.Due
	}
	return []any{h.Rev, int64(h.CID), h.Seq, int64(h.Seg), h.Ev, h.Schema, int64(h.Status), h.Lease, h.Tries,
		h.Deadline, h.NotBefore, h.Pending, h.End != nil, tables.Oldest(h.Oldest, h.Run), tables.MapText(h.Calls), tables.MapText(h.TimedOut), tables.HeadBody(h),
		due, h.Tenant, h.Thread, h.Epoch, h.Rev - 1, !req.AllSeen, req.Seen, tables.Urgent(waits.Urgency(h)), waits.Questions(h), h.At}
}

func segmentArgs(req engine.CommitRequest) []any {
	s := req.Segment
	if s == nil {
		return nil
	}
	return []any{req.Next.Tenant, req.Next.Thread, s.Seq, int64(s.W), int64(s.Prev), tables.SegmentBody(*s, req.Next)}
}

// refuseCommit says why a commit was refused. It checks the epoch first: once another owner has
// claimed the run, even a commit that landed no longer concerns the caller.
func (t *tx) refuseCommit(req engine.CommitRequest) (engine.Written, error) {
	old, err := t.head(req.Next.Tenant, req.Next.Thread)
	switch {
	case err != nil:
		return engine.Written{}, err
	case wentOn(old, req):
		return t.alreadyOn(old, req)
	case old.Thread == "" || old.Epoch != req.Next.Epoch:
		return engine.Written{Head: old}, engine.ErrFenced
	// a repeat of a commit that landed, together with its wake-up
	case old.CID == req.Next.CID && old.Rev == req.Next.Rev:
		return engine.Written{Head: old, Woken: req.Wake != nil, Settled: req.Settle != nil}, nil
	case old.Rev == req.Next.Rev-1:
		return engine.Written{Head: old}, engine.ErrSignals
	}
	return engine.Written{Head: old}, engine.ErrFenced
}

// putSegment never lets an older put replace a newer one. A marked segment gets its position in the
// feed of its tenant, see [feedNext].
func (t *tx) putSegment(tenant string, rows commitRows, now int64) error {
	const (
		into  = "INSERT INTO segments (tenant, thread, seq, w, prev, body, marks, feed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
		newer = ` ON CONFLICT (tenant, thread, seq) DO UPDATE SET w = excluded.w, prev = excluded.prev, body = excluded.body,
			marks = excluded.marks, feed = excluded.feed WHERE w < excluded.w`
		outside = into + "NULL, NULL)" + newer
		inFeed  = into + "?7, " + feedNext + ")" + newer
	)
	query, row := outside, rows.segment
	switch {
	case row == nil:
		return nil
	case rows.marks != "":
		query, row = inFeed, append(slices.Clone(row), string(rows.marks), now*perMilli)
		t.Notify(place{tenant: tenant})
	}
	n, err := t.Exec(query, row...)
	if err == nil && n == 0 {
		err = engine.ErrFenced
	}
	return err
}

func (t *tx) drain(h *core.Head, keys []string) error {
	const query = "DELETE FROM inbox WHERE tenant = ? AND thread = ? AND key IN (SELECT value FROM json_each(?))"
	if len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		delete(h.Inbox, key)
	}
	_, err := t.Exec(query, h.Tenant, h.Thread, tables.Text(keys))
	return err
}

// written sends the wake-up that a write requested and builds its answer.
func (t *tx) written(h core.Head, wake *engine.Delay, now int64) (engine.Written, error) {
	t.Notify(place{h.Tenant, h.Thread})
	if wake == nil {
		return engine.Written{Head: h}, nil
	}
	err := t.send(engine.Wakeup{Tenant: h.Tenant, Thread: h.Thread}, now+wake.For.Milliseconds())
	return engine.Written{Head: h, Woken: err == nil}, err
}
