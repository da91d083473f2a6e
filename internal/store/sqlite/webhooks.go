package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

const selectWebhooks = "SELECT id, rev, body FROM webhooks WHERE tenant = ?"

// PutWebhook implements webhooks.Store.
func (db *DB) PutWebhook(ctx context.Context, w notice.Webhook) error {
	const add = "INSERT INTO webhooks (tenant, id, rev, body) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING"
	const change = "UPDATE webhooks SET rev = ?3, body = ?4 WHERE tenant = ?1 AND id = ?2 AND rev = ?3 - 1"
	const same = "SELECT count(*) FROM webhooks WHERE tenant = ? AND id = ? AND rev = ? AND body = ?"
	put := change
	if w.Rev == 1 {
		put = add
	}
	return exec(ctx, db, func(t *tx) error {
		values := []any{w.Tenant, w.ID, w.Rev, tables.Text(w)}
		n, err := t.Exec(put, values...)
		if err != nil || n == 1 {
			return err
		}
		var there int
		err = t.Row(func(s dbfile.Scanner) error { return s.Scan(&there) }, same, values...)
		if err == nil && there == 0 {
			err = engine.ErrRefused
		}
		return err
	})
}

// Webhook implements webhooks.Store.
func (db *DB) Webhook(ctx context.Context, tenant, id string) (w notice.Webhook, err error) {
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return scanWebhook(s, tenant, &w) }, selectWebhooks+" AND id = ?", tenant, id)
	return w, err
}

// Webhooks implements webhooks.Store.
func (db *DB) Webhooks(ctx context.Context, tenant string) (all []notice.Webhook, err error) {
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var w notice.Webhook
		err := scanWebhook(s, tenant, &w)
		if errors.Is(err, engine.ErrUnreadable) {
			w, err = notice.Webhook{Tenant: tenant, ID: w.ID, Rev: w.Rev, Damaged: true}, nil
		}
		all = append(all, w)
		return err
	}, selectWebhooks+" ORDER BY id", tenant)
	return all, err
}

// DeleteWebhook implements webhooks.Store.
func (db *DB) DeleteWebhook(ctx context.Context, tenant, id string) error {
	return exec(ctx, db, func(t *tx) error {
		if _, err := t.Exec("DELETE FROM webhooks WHERE tenant = ? AND id = ?", tenant, id); err != nil {
			return err
		}
		return t.enable(tenant, id)
	})
}

func scanWebhook(s dbfile.Scanner, tenant string, w *notice.Webhook) error {
	var body []byte
	if err := s.Scan(&w.ID, &w.Rev, &body); err != nil {
		return dbfile.Unavailable(err)
	}
	w.Tenant = tenant
	if err := json.Unmarshal(body, w); err != nil {
		return tables.Unreadable("webhook "+w.ID, err)
	}
	return nil
}

const selectDisabled = "SELECT endpoint, body FROM disabled_endpoints WHERE tenant = ?"

// DisableEndpoint implements webhooks.Store. It also deletes a few old marks.
func (db *DB) DisableEndpoint(ctx context.Context, d notice.Disabled) (notice.Disabled, error) {
	const put = "INSERT INTO disabled_endpoints (tenant, endpoint, gone, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
	const tidy = `DELETE FROM disabled_endpoints WHERE (tenant, endpoint) IN
		(SELECT tenant, endpoint FROM disabled_endpoints WHERE gone > 0 AND gone <= ? LIMIT 10)`
	return write(ctx, db, func(t *tx) (now notice.Disabled, err error) {
		if _, err := t.Exec(tidy, db.now()); err != nil {
			return now, err
		}
		if _, err := t.Exec(put, d.Tenant, d.Endpoint, d.Gone(), tables.Text(d)); err != nil {
			return now, err
		}
		err = t.Row(func(s dbfile.Scanner) error { return scanDisabled(s, d.Tenant, &now) }, selectDisabled+" AND endpoint = ?", d.Tenant, d.Endpoint)
		if errors.Is(err, sql.ErrNoRows) { // it was gone from the start
			return d, nil
		}
		return now, err
	})
}

// EnableEndpoint implements webhooks.Store.
func (db *DB) EnableEndpoint(ctx context.Context, tenant, endpoint string) error {
	return exec(ctx, db, func(t *tx) error { return t.enable(tenant, endpoint) })
}

func (t *tx) enable(tenant, endpoint string) error {
	_, err := t.Exec("DELETE FROM disabled_endpoints WHERE tenant = ? AND endpoint = ?", tenant, endpoint)
	return err
}

// Disabled implements webhooks.Store.
func (db *DB) Disabled(ctx context.Context, tenant string, endpoints []string) (map[string]notice.Disabled, error) {
	found := map[string]notice.Disabled{}
	err := db.read(ctx, func(s dbfile.Scanner) error {
		var d notice.Disabled
		err := scanDisabled(s, tenant, &d)
		if errors.Is(err, engine.ErrUnreadable) {
			d, err = notice.DamagedMark(tenant, d.Endpoint), nil
		}
		found[d.Endpoint] = d
		return err
	}, selectDisabled+" AND endpoint IN (SELECT value FROM json_each(?))", tenant, tables.Text(endpoints))
	return found, err
}

// DisabledEndpoints implements webhooks.Store.
func (db *DB) DisabledEndpoints(ctx context.Context, tenant, after string, limit int) (all []notice.Disabled, err error) {
	err = db.read(ctx, func(s dbfile.Scanner) error {
		var d notice.Disabled
		err := scanDisabled(s, tenant, &d)
		if errors.Is(err, engine.ErrUnreadable) {
			d, err = notice.DamagedMark(tenant, d.Endpoint), nil
		}
		all = append(all, d)
		return err
	}, selectDisabled+" AND endpoint > ? ORDER BY endpoint LIMIT ?", tenant, after, limit)
	return all, err
}

func scanDisabled(s dbfile.Scanner, tenant string, d *notice.Disabled) error {
	var body []byte
	if err := s.Scan(&d.Endpoint, &body); err != nil {
		return dbfile.Unavailable(err)
	}
	d.Tenant = tenant
	if err := json.Unmarshal(body, d); err != nil {
		return tables.Unreadable("mark of the endpoint "+d.Endpoint, err)
	}
	return nil
}
