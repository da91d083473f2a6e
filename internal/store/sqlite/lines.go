package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

const (
	ofLine      = " WHERE tenant = ?1 AND thread = ?2 AND endpoint = ?3"
	lineColumns = "endpoint, epoch, lease, claim, last, adds, at, due"
)

// HandOver implements [engine.Lines]. The wake-up is sent in the same transaction.
func (db *DB) HandOver(ctx context.Context, req engine.HandOver) (woken bool, err error) {
	return write(ctx, db, func(t *tx) (bool, error) {
		old, err := t.line(req.Key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return false, err
		}
		l, added := old.HandOver(req.Event, req.Kind, req.Seq, req.Now)
		if !added {
			return false, nil
		}
		if err := db.addEntry(t, req.Key, l, req.Event, req.Now); err != nil || !req.Wake {
			return false, err
		}
		return true, t.send(engine.Wakeup{Tenant: req.Tenant, Thread: req.Thread, Endpoint: req.Endpoint}, db.now())
	})
}

// addEntry stores the entry of a line that was added to it just now, and gives up what is
// too much for it.
func (db *DB) addEntry(t *tx, k notice.Key, l notice.Line, event, now int64) error {
	const put = `INSERT INTO delivery_lines (tenant, thread, endpoint, last, adds, at, due) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
		ON CONFLICT (tenant, thread, endpoint) DO UPDATE SET last = excluded.last, adds = excluded.adds, at = excluded.at, due = excluded.due`
	if _, err := t.Exec(put, k.Tenant, k.Thread, k.Endpoint, l.Last, l.Adds, l.At, l.Due); err != nil {
		return err
	}
	if err := t.putEntry(k, event, tables.Text(l.Entries[event])); err != nil {
		return err
	}
	_, dead := l.Trim(k, db.bound, now)
	for _, r := range dead {
		if err := t.writeLine(engine.LineWrite{Key: k, Event: r.Event, Record: &r}, db.now()); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putEntry(k notice.Key, event int64, entry string) error {
	_, err := t.Exec("INSERT OR REPLACE INTO notices (tenant, thread, endpoint, event, body) VALUES (?, ?, ?, ?, ?)", k.Tenant, k.Thread, k.Endpoint, event, entry)
	return err
}

// ClaimLine implements delivery.Lines. It has the condition of [notice.Line.Claimable].
func (db *DB) ClaimLine(ctx context.Context, req engine.LineClaim) (notice.Line, error) {
	const claim = `UPDATE delivery_lines SET epoch = epoch + 1, lease = ?4, claim = ?5, due = ?6` + ofLine +
		` AND due <> 0 AND at <= ?7 AND (lease = 0 OR lease < ?8) AND claim <> ?5`
	return write(ctx, db, func(t *tx) (notice.Line, error) {
		n, err := t.Exec(claim, req.Tenant, req.Thread, req.Endpoint, req.LeaseEnd, req.Claim, req.Due, req.Now+notice.Early, req.Now)
		if err != nil {
			return notice.Line{}, err
		}
		l, err := t.line(req.Key)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			return l, engine.ErrRefused
		case err == nil && n == 0 && (l.Claim != req.Claim || l.Lease == 0):
			return l, engine.ErrRefused
		}
		return l, err
	})
}

// WriteLine implements delivery.Lines.
func (db *DB) WriteLine(ctx context.Context, req engine.LineWrite) (notice.Line, error) {
	return write(ctx, db, func(t *tx) (notice.Line, error) {
		old, err := t.line(req.Key)
		switch {
		case errors.Is(err, engine.ErrNotFound) || err == nil && old.Epoch != req.Epoch:
			return notice.Line{}, engine.ErrFenced
		case err != nil:
			return notice.Line{}, err
		case req.Adds != 0 && old.Adds != req.Adds, req.Gone(old):
			return old, engine.ErrRefused
		}
		if err := t.writeLine(req, db.now()); err != nil {
			return notice.Line{}, err
		}
		l := old.With(req.Event, req.Entry)
		if req.Release {
			l = l.Released(req.Due)
		}
		return l, nil
	})
}

func (t *tx) writeLine(req engine.LineWrite, now int64) error {
	k := req.Key
	if req.Record != nil {
		if err := t.putRecord(*req.Record, now); err != nil {
			return err
		}
	}
	if req.Release {
		if _, err := t.Exec("UPDATE delivery_lines SET lease = 0, at = ?4, due = ?4"+ofLine, k.Tenant, k.Thread, k.Endpoint, req.Due); err != nil {
			return err
		}
	}
	if req.Entry != nil {
		return t.putEntry(k, req.Event, tables.Text(*req.Entry))
	}
	_, err := t.Exec("DELETE FROM notices"+ofLine+" AND event = ?4", k.Tenant, k.Thread, k.Endpoint, req.Event)
	return err
}

// putRecord also deletes a few old records of delivered notices.
func (t *tx) putRecord(r notice.Record, now int64) error {
	const put = "INSERT OR REPLACE INTO notice_records (tenant, thread, endpoint, event, at, dead, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
	const tidy = `DELETE FROM notice_records WHERE (tenant, thread, endpoint, event) IN
		(SELECT tenant, thread, endpoint, event FROM notice_records WHERE dead = 0 AND at <= ? LIMIT 10)`
	if _, err := t.Exec(put, r.Tenant, r.Thread, r.Endpoint, r.Event, r.At, r.State == notice.StateDead, tables.Text(r)); err != nil {
		return err
	}
	_, err := t.Exec(tidy, now-notice.Kept)
	return err
}

// RedriveNotice implements delivery.Lines.
func (db *DB) RedriveNotice(ctx context.Context, k notice.Key, event, now int64) error {
	const take = "DELETE FROM notice_records" + ofLine + " AND event = ?4 AND dead = 1 RETURNING " + recordColumns
	return exec(ctx, db, func(t *tx) error {
		var r notice.Record
		err := t.Row(func(s dbfile.Scanner) error { return scanNoticeRecord(s, k.Tenant, &r) }, take, k.Tenant, k.Thread, k.Endpoint, event)
		if errors.Is(err, sql.ErrNoRows) {
			return engine.ErrNotFound
		}
		if err != nil {
			return err
		}
		l, err := t.line(k)
		if err != nil {
			return err
		}
		if err := db.addEntry(t, k, l.Redrive(r, now), event, now); err != nil {
			return err
		}
		return t.send(engine.Wakeup{Tenant: k.Tenant, Thread: k.Thread, Endpoint: k.Endpoint}, db.now())
	})
}

// line reads a line, or returns [engine.ErrNotFound].
func (t *tx) line(k notice.Key) (l notice.Line, err error) {
	l.Entries = map[int64]notice.Entry{}
	err = t.Row(func(s dbfile.Scanner) error { return scanLine(s, &l, new(string)) }, "SELECT "+lineColumns+" FROM delivery_lines"+ofLine, k.Tenant, k.Thread, k.Endpoint)
	if errors.Is(err, sql.ErrNoRows) {
		err = engine.ErrNotFound
	}
	if err != nil {
		return l, err
	}
	return l, t.Each(func(s dbfile.Scanner) error { return scanEntry(s, l.Entries, new(string)) }, "SELECT "+entryColumns+" FROM notices"+ofLine, k.Tenant, k.Thread, k.Endpoint)
}

const entryColumns = "endpoint, event, body"

func scanLine(s dbfile.Scanner, l *notice.Line, endpoint *string) error {
	if err := s.Scan(endpoint, &l.Epoch, &l.Lease, &l.Claim, &l.Last, &l.Adds, &l.At, &l.Due); err != nil {
		return dbfile.Unavailable(err)
	}
	return nil
}

func scanEntry(s dbfile.Scanner, entries map[int64]notice.Entry, endpoint *string) error {
	var event int64
	var body []byte
	var e notice.Entry
	if err := s.Scan(endpoint, &event, &body); err != nil {
		return dbfile.Unavailable(err)
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return tables.Unreadable("notice of "+*endpoint, err)
	}
	entries[event] = e
	return nil
}

// Line implements delivery.Lines.
func (db *DB) Line(ctx context.Context, k notice.Key) (notice.Line, error) {
	lines, err := db.ThreadLines(ctx, k.Tenant, k.Thread)
	l, there := lines[k.Endpoint]
	if err == nil && !there {
		err = engine.ErrNotFound
	}
	return l, err
}

// ThreadLines implements delivery.Lines. Entries are read first: one that goes in between has a
// record by then.
func (db *DB) ThreadLines(ctx context.Context, tenant, thread string) (map[string]notice.Line, error) {
	const ofThread = " WHERE tenant = ? AND thread = ?"
	entries := map[string]map[int64]notice.Entry{}
	err := db.read(ctx, func(s dbfile.Scanner) error {
		var endpoint string
		one := map[int64]notice.Entry{}
		err := scanEntry(s, one, &endpoint)
		if entries[endpoint] == nil {
			entries[endpoint] = map[int64]notice.Entry{}
		}
		for event, e := range one {
			entries[endpoint][event] = e
		}
		return err
	}, "SELECT "+entryColumns+" FROM notices"+ofThread, tenant, thread)
	if err != nil {
		return nil, err
	}
	lines := map[string]notice.Line{}
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var l notice.Line
		var endpoint string
		err := scanLine(s, &l, &endpoint)
		l.Entries = entries[endpoint]
		lines[endpoint] = l
		return err
	}, "SELECT "+lineColumns+" FROM delivery_lines"+ofThread, tenant, thread)
	return lines, err
}

const recordColumns = "thread, endpoint, event, body, at, dead"

func scanNoticeRecord(s dbfile.Scanner, tenant string, r *notice.Record) error {
	var body []byte
	var at int64
	var dead bool
	if err := s.Scan(&r.Thread, &r.Endpoint, &r.Event, &body, &at, &dead); err != nil {
		return dbfile.Unavailable(err)
	}
	r.Tenant = tenant
	if err := json.Unmarshal(body, r); err != nil {
		*r = notice.Unread(r.Key, r.Event, at)
		if dead {
			r.State = notice.StateDead
		}
		return tables.Unreadable("record of a notice of thread "+r.Thread, err)
	}
	return nil
}

const ofNotice = " FROM notice_records" + ofLine + " AND event = ?4"

// Record implements delivery.Lines.
func (db *DB) Record(ctx context.Context, k notice.Key, event int64) (r notice.Record, err error) {
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return scanNoticeRecord(s, k.Tenant, &r) }, "SELECT "+recordColumns+ofNotice, k.Tenant, k.Thread, k.Endpoint, event)
	return r, err
}

// ForgetNotice implements delivery.Lines.
func (db *DB) ForgetNotice(ctx context.Context, k notice.Key, event int64) error {
	return exec(ctx, db, func(t *tx) error {
		n, err := t.Exec("DELETE"+ofNotice+" AND dead = 1", k.Tenant, k.Thread, k.Endpoint, event)
		if err == nil && n == 0 {
			err = engine.ErrNotFound
		}
		return err
	})
}

const listNotices = "n"

// Records implements delivery.Lines.
func (db *DB) Records(ctx context.Context, tenant string, q engine.RecordQuery) (records []notice.Record, next string, err error) {
	const query = "SELECT " + recordColumns + ` FROM notice_records WHERE tenant = ?1 AND (?2 = '' OR thread = ?2) AND (?3 = '' OR endpoint = ?3)
		AND (NOT ?4 OR dead = 1) AND (at, thread, printf('%015d/', event) || endpoint) < (?5, ?6, ?7)
		ORDER BY at DESC, thread DESC, printf('%015d/', event) || endpoint DESC LIMIT ?8`
	after, err := parseCursor(q.Cursor, position{List: listNotices, Number: math.MaxInt64})
	if err != nil {
		return nil, "", err
	}
	limit := max(q.Limit, 1)
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var r notice.Record
		err := scanNoticeRecord(s, tenant, &r)
		if errors.Is(err, engine.ErrUnreadable) { // it must not hide the others
			err = nil
		}
		records = append(records, r)
		return err
	}, query, tenant, q.Thread, q.Endpoint, q.Dead, after.Number, after.Text, after.Tie, limit+1)
	if err != nil {
		return nil, "", err
	}
	page, next := cutPage(records, limit, func(r notice.Record) position {
		return position{List: listNotices, Number: r.At, Text: r.Thread, Tie: fmt.Sprintf("%015d/%s", r.Event, r.Endpoint)}
	})
	return page, next, nil
}
