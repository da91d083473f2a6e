package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// headColumns are read by scanHead, in this order. They include the inbox, so that head and signals
// belong to the same moment.
const headColumns = `heads.tenant, heads.thread, heads.run, heads.agent, heads.v, heads.st, heads.epoch, heads.rev, heads.cid, heads.seq,
	heads.seg, heads.ev, heads.sigs, heads.lease, heads.claim, heads.tries, heads.dl, heads.not_before, heads.nsus,
	heads.oldest, heads.born, heads.due, heads.calls, heads.timed, heads.body,
	(SELECT json_group_object(i.key, json(CASE WHEN json_valid(i.value) THEN i.value ELSE json_quote(i.value) END)) FROM inbox i WHERE i.tenant = heads.tenant AND i.thread = heads.thread)`

const selectHead = "SELECT " + headColumns + " FROM heads WHERE tenant = ? AND thread = ?"

// body is the part of a head that has no column of its own.
type body struct {
	stored
	engine.HotMembers
	Oldest *engine.Hidden `json:"as,omitempty"`
}

type stored struct{ core.Head }

func bodyOf(h core.Head) string { return text(body{stored: stored{h}}) }

// text returns v as JSON, bound as TEXT: SQLite would take a blob for its own binary form of JSON.
func text(v any) string { return string(core.Encode(v)) }

// mapText encodes nil as an empty map, so that every map exists from the start.
func mapText[V any](m map[string]V) string {
	if m == nil {
		return "{}"
	}
	return text(m)
}

func scanHead(s dbfile.Scanner, h *core.Head) error {
	var calls, timed, rest, inbox string
	var found core.Head
	err := s.Scan(&found.Tenant, &found.Thread, &found.Run, &found.Agent, &found.Schema, &found.Status, &found.Epoch,
		&found.Rev, &found.CID, &found.Seq, &found.Seg, &found.Ev, &found.Sigs, &found.Lease, &found.Claim, &found.Tries,
		&found.Deadline, &found.NotBefore, &found.Pending, &found.Oldest, &found.Born, &found.Due,
		&calls, &timed, &rest, &inbox)
	if err != nil {
		known, ok := identified(s)
		if !ok {
			return dbfile.Unavailable(err)
		}
		*h = known
		return unreadable("head of thread "+known.Thread, err)
	}
	full := body{stored: stored{found}}
	err = errors.Join(json.Unmarshal([]byte(rest), &full), json.Unmarshal([]byte(calls), &full.Head.Calls),
		json.Unmarshal([]byte(timed), &full.Head.TimedOut), json.Unmarshal([]byte(inbox), &full.Head.Inbox))
	if err == nil && found.Status > core.RunDone {
		err = fmt.Errorf("%d is not a status", found.Status)
	}
	if err != nil {
		*h = identity(found)
	}
	if err != nil && found.Schema > core.SchemaVersion {
		return fmt.Errorf("%w: thread %q", engine.ErrNewerSchema, found.Thread)
	}
	if err != nil {
		return unreadable("head of thread "+found.Thread, err)
	}
	*h = full.Head
	if h.Out == nil {
		h.Out = map[string]core.Out{}
	}
	return nil
}

// identified returns the identity of a head that has an invalid value in some column, or false if
// the row cannot be read at all.
func identified(s dbfile.Scanner) (h core.Head, ok bool) {
	values := make([]any, 26)
	to := make([]any, len(values))
	for i := range values {
		to[i] = &values[i]
	}
	if s.Scan(to...) != nil {
		return h, false
	}
	for at, field := range map[int]*string{0: &h.Tenant, 1: &h.Thread, 2: &h.Run, 3: &h.Agent, 19: &h.Oldest} {
		*field, _ = values[at].(string)
	}
	h.Born, _ = values[20].(int64)
	h.At = h.Born
	return h, true
}

// identity is what lists show of a head that cannot be read. It has no calls.
func identity(h core.Head) core.Head {
	return core.Head{Identity: core.Identity{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Agent: h.Agent},
		Waits: core.Waits{Oldest: h.Oldest}, Origin: core.Origin{Born: h.Born, At: h.Born}}
}

// listed drops the error of an entry that cannot be read: the list shows its identity, and the
// other entries stay visible.
func listed(err error) error {
	if errors.Is(err, engine.ErrUnreadable) || errors.Is(err, engine.ErrNewerSchema) {
		return nil
	}
	return err
}

// unreadable is the error for stored data that this program cannot have written.
func unreadable(what string, err error) error {
	return dbfile.Unavailable(fmt.Errorf("sqlite: the stored %s: %w: %w", what, engine.ErrUnreadable, err))
}

// head reads a head as the previous operations of the transaction left it, or a zero head if there
// is none.
func (t *tx) head(tenant, thread string) (h core.Head, err error) {
	err = t.Row(func(s dbfile.Scanner) error { return scanHead(s, &h) }, selectHead, tenant, thread)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Head{}, nil
	}
	return h, err
}

// change updates one head and returns headColumns; won reports whether its conditions held.
func (t *tx) change(query string, args ...any) (h core.Head, won bool, err error) {
	err = t.Row(func(s dbfile.Scanner) error { return scanHead(s, &h) }, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Head{}, false, nil
	}
	return h, err == nil, err
}

// Load implements [engine.Store] and frontend.Store.
func (db *DB) Load(ctx context.Context, tenant, thread string) (h core.Head, err error) {
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return scanHead(s, &h) }, selectHead, tenant, thread)
	return h, err
}
