package sqlite

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// putSignal stores a signal if the head accepts it. Ids of calls and suspensions may contain any
// character, so they are found by key instead of by path.
const putSignal = `INSERT INTO inbox (tenant, thread, key, value)
	SELECT ?1, ?2, ?3, ?4 FROM heads
	WHERE tenant = ?1 AND thread = ?2 AND run = ?5 AND has_end = 0
	AND (NOT ?6 OR nsus = 0)
	AND (?7 = 0 OR (SELECT count(*) FROM inbox i WHERE i.tenant = ?1 AND i.thread = ?2) < ?7)
	AND (?8 = '' OR EXISTS (SELECT 1 FROM json_each(heads.calls) c
		WHERE c.key = ?9 AND c.value ->> '$.st' = 'suspended' AND c.value ->> '$.sus' = ?8))
	AND (?10 = '' OR EXISTS (SELECT 1 FROM json_each(heads.timed) t WHERE t.key = ?10))
	AND (?11 IS NULL OR lease = 0 AND sigs = ?11 AND v <= ?12)
	AND (?13 = '' OR EXISTS (SELECT 1 FROM inbox h WHERE h.tenant = ?1 AND h.thread = ?2 AND h.key = ?13
		AND h.value ->> '$.k' = 'decision' AND h.value ->> '$.id' = ?14 AND h.value ->> '$.hold' = ?15))
	ON CONFLICT (tenant, thread, key) DO NOTHING`

const countSignal = "UPDATE heads SET sigs = sigs + 1, due = ?, v = max(v, ?) WHERE tenant = ? AND thread = ? RETURNING " + tables.HeadColumns

// Signal implements frontend.Store.
func (db *DB) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	value := tables.Text(req.Signal)
	together := make([]string, len(req.Together))
	for i, one := range req.Together {
		together[i] = tables.Text(one.Signal)
	}
	return write(ctx, db, func(t *tx) (engine.Written, error) { return t.signal(req, value, together, db.now()) })
}

func (t *tx) signal(req engine.SignalRequest, value string, together []string, now int64) (engine.Written, error) {
	if err := t.putKey(req.Key, now); err != nil {
		return engine.Written{}, err
	}
	n, err := t.Exec(putSignal, append([]any{req.Tenant, req.Thread, req.InboxKey, value, req.Run, req.NobodyWaits,
		req.MaxMessages, req.Suspension, req.Call, req.Late}, holdArgs(req)...)...)
	if err != nil {
		return engine.Written{}, err
	}
	if n == 0 {
		return t.refused(req.Tenant, req.Thread)
	}
	if req.Undoes != nil {
		if err := t.unstore(req, []string{req.Undoes.Suspension}); err != nil {
			return engine.Written{}, err
		}
	}
	if counted, err := t.vote(req); err != nil || !counted {
		if err != nil {
			return engine.Written{}, err
		}
		return t.refused(req.Tenant, req.Thread)
	}
	if all, err := t.signalTogether(req, together); err != nil || !all {
		if err != nil {
			return engine.Written{}, err
		}
		return t.refused(req.Tenant, req.Thread)
	}
	schema := 0
	if req.Seen != nil {
		schema = core.SchemaPacked
	}
	head, _, err := t.change(countSignal, req.Due, schema, req.Tenant, req.Thread)
	if err != nil {
		return engine.Written{}, err
	}
	return t.written(head, req.Wake, now)
}

// holdArgs are the arguments of [putSignal] for a decision that is held, or withdrawn.
func holdArgs(req engine.SignalRequest) []any {
	var seen any
	if req.Seen != nil {
		seen = *req.Seen
	}
	undoes := engine.Held{}
	if req.Undoes != nil {
		undoes = *req.Undoes
	}
	return []any{seen, core.SchemaPacked, undoes.Suspension, undoes.ID, undoes.Until}
}

// signalTogether stores the other decisions of a batch. If one is refused, it removes those before
// it and the request's own signal: the head that is read then has none of them.
func (t *tx) signalTogether(req engine.SignalRequest, values []string) (all bool, err error) {
	stored := []string{req.InboxKey}
	for i, one := range req.Together {
		n, err := t.Exec(putSignal, req.Tenant, req.Thread, one.Suspension, values[i], req.Run, false, 0, one.Suspension, one.Call, "", nil, 0, "", "", 0)
		if err != nil {
			return false, err
		}
		if n == 0 {
			return false, t.unstore(req, stored)
		}
		stored = append(stored, one.Suspension)
	}
	return true, nil
}

func (t *tx) unstore(req engine.SignalRequest, keys []string) error {
	for _, key := range keys {
		if _, err := t.Exec("DELETE FROM inbox WHERE tenant = ? AND thread = ? AND key = ?", req.Tenant, req.Thread, key); err != nil {
			return err
		}
	}
	return nil
}
