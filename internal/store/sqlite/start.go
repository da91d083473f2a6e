package sqlite

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// Start implements [engine.Store] and frontend.Store.
func (db *DB) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	if err := req.Check(); err != nil {
		return engine.Written{}, err
	}
	rows := startRowsOf(req)
	return write(ctx, db, func(t *tx) (engine.Written, error) { return t.start(req, rows, db.now()) })
}

// startRows are the arguments of a start's statements; the caller builds them, as with
// [commitRows].
type startRows struct {
	head    []any
	inbox   [][]any
	archive []any // of the previous run; nil if there is none
}

func startRowsOf(req engine.StartRequest) startRows {
	rows := startRows{head: startArgs(req)}
	for key, signal := range req.Head.Inbox {
		rows.inbox = append(rows.inbox, []any{req.Head.Tenant, req.Head.Thread, key, tables.Text(signal)})
	}
	if req.Prior != nil {
		r := req.Prior.Record()
		r.Status = core.RunDone // the run of an owner ends with this write
		// the new head's own schema may be less: see [core.SchemaOf]
		rows.head = append(rows.head, req.Prior.Rev, core.SchemaVersion)
		rows.archive = []any{req.Prior.Tenant, r.Run, r.Thread, r.Born, tables.Text(r)}
	}
	if req.Owned {
		rows.head = append(rows.head, req.Prior.Epoch, req.Seen)
	}
	return rows
}

func (t *tx) start(req engine.StartRequest, rows startRows, now int64) (engine.Written, error) {
	if err := t.putKey(req.Key, now); err != nil {
		return engine.Written{}, err
	}
	won, err := t.putHead(req, rows)
	switch {
	case err != nil:
		return engine.Written{}, err
	case !won && req.Owned:
		return t.refuseOwned(req)
	case !won:
		w, err := t.refused(req.Head.Tenant, req.Head.Thread)
		if w.Head.Schema > core.SchemaVersion {
			err = engine.ErrNewerSchema
		}
		return w, err
	}
	if err := t.fillInbox(rows.inbox); err != nil {
		return engine.Written{}, err
	}
	if err := t.changeVotes(&req.Head, req.Head.Votes); err != nil {
		return engine.Written{}, err
	}
	head, err := t.head(req.Head.Tenant, req.Head.Thread)
	if err != nil {
		return engine.Written{}, err
	}
	return t.written(head, req.Wake, now)
}

// refuseOwned says why an owner cannot start a run after its own.
func (t *tx) refuseOwned(req engine.StartRequest) (engine.Written, error) {
	old, err := t.head(req.Head.Tenant, req.Head.Thread)
	switch {
	case err != nil:
		return engine.Written{}, err
	case old.Schema > core.SchemaVersion:
		return engine.Written{Head: old}, engine.ErrNewerSchema
	// a repeat of a start that landed, together with its wake-up
	case old.Run == req.Head.Run && old.Rev == req.Head.Rev:
		return engine.Written{Head: old, Woken: req.Wake != nil}, nil
	case old.Run == req.Prior.Run && old.Epoch == req.Prior.Epoch && old.Rev == req.Prior.Rev && old.Sigs != req.Seen:
		return engine.Written{Head: old}, engine.ErrSignals
	}
	return engine.Written{Head: old}, engine.ErrFenced
}

func (t *tx) refused(tenant, thread string) (engine.Written, error) {
	old, err := t.head(tenant, thread)
	if err != nil {
		return engine.Written{}, err
	}
	return engine.Written{Head: old}, engine.ErrRefused
}

const createHead = `INSERT INTO heads (run, agent, v, st, epoch, rev, cid, seq, seg, ev, sigs, lease, claim, tries, dl, not_before,
	nsus, has_end, oldest, urgent, asks, born, due, calls, timed, body, at, tenant, thread)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

// succeedHead replaces a run by the next one, if the revision is as expected. The caller continues
// the counters, which never decrease.
const succeedHead = `UPDATE heads SET run = ?, agent = ?, v = ?, st = ?, epoch = ?, rev = ?, cid = ?, seq = ?, seg = ?, ev = ?, sigs = ?,
	lease = ?, claim = ?, tries = ?, dl = ?, not_before = ?, nsus = ?, has_end = ?, oldest = ?, urgent = ?, asks = ?, born = ?, due = ?,
	calls = ?, timed = ?, body = ?, at = ? WHERE tenant = ? AND thread = ? AND rev = ? AND `

// The other condition on the previous run: it is done, or it belongs to the caller and has its end.
const (
	succeedDone  = succeedHead + "v <= ? AND st = 3"
	succeedOwned = succeedHead + "v <= ? AND st <> 3 AND has_end = 1 AND epoch = ? AND sigs = ?"
)

const archiveRun = `INSERT INTO archive (tenant, run, thread, born, body) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (tenant, run) DO UPDATE SET thread = excluded.thread, born = excluded.born, body = excluded.body`

// putHead creates the head or replaces the previous one, which goes to the archive.
func (t *tx) putHead(req engine.StartRequest, rows startRows) (won bool, err error) {
	query := createHead
	switch {
	case req.Owned:
		query = succeedOwned
	case req.Prior != nil:
		query = succeedDone
	}
	n, err := t.Exec(query, rows.head...)
	if err != nil || n == 0 {
		return false, err
	}
	if rows.archive != nil {
		_, err = t.Exec(archiveRun, rows.archive...)
	}
	return err == nil, err
}

func startArgs(req engine.StartRequest) []any {
	h := req.Head
	return []any{h.Run, h.Agent, h.Schema, int64(h.Status), h.Epoch, h.Rev, int64(h.CID), h.Seq, int64(h.Seg), h.Ev, h.Sigs, h.Lease,
		h.Claim, h.Tries, h.Deadline, h.NotBefore, h.Pending, h.End != nil, tables.Oldest(h.Oldest, h.Run), tables.Urgent(waits.Urgency(h)), waits.Questions(h), h.Born, req.Due,
		tables.MapText(h.Calls), tables.MapText(h.TimedOut), tables.HeadBody(h), h.At, h.Tenant, h.Thread}
}

func (t *tx) fillInbox(rows [][]any) error {
	const query = `INSERT INTO inbox (tenant, thread, key, value) VALUES (?, ?, ?, ?)
		ON CONFLICT (tenant, thread, key) DO UPDATE SET value = excluded.value`
	for _, row := range rows {
		if _, err := t.Exec(query, row...); err != nil {
			return err
		}
	}
	return nil
}

// putKey records a request under its key, or returns who used the key. It replaces an expired
// record.
func (t *tx) putKey(key *engine.Key, now int64) error {
	const put = `INSERT INTO keys (tenant, key, run, digest, expires) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (tenant, key) DO UPDATE SET run = excluded.run, digest = excluded.digest, expires = excluded.expires
		WHERE expires BETWEEN 1 AND ?`
	const get = "SELECT tenant, key, run, digest, expires FROM keys WHERE tenant = ? AND key = ?"
	if key == nil {
		return nil
	}
	n, err := t.Exec(put, key.Tenant, key.Key, key.Run, key.Digest, key.Expires, now)
	if err != nil || n == 1 {
		return err
	}
	var taken engine.KeyTakenError
	k := &taken.Key
	err = t.Row(func(s dbfile.Scanner) error { return s.Scan(&k.Tenant, &k.Key, &k.Run, &k.Digest, &k.Expires) }, get, key.Tenant, key.Key)
	if err != nil {
		return dbfile.Unavailable(err)
	}
	return &taken
}

// Used implements frontend.Store.
func (db *DB) Used(ctx context.Context, tenant, key string) (k engine.Key, err error) {
	const query = "SELECT tenant, key, run, digest, expires FROM keys WHERE tenant = ? AND key = ? AND (expires = 0 OR expires > ?)"
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return s.Scan(&k.Tenant, &k.Key, &k.Run, &k.Digest, &k.Expires) }, query, tenant, key, db.now())
	return k, err
}
