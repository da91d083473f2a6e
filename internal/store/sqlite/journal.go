package sqlite

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// Segments implements [engine.Store] and frontend.Store.
func (db *DB) Segments(ctx context.Context, tenant, thread string, from, to int64) (segments []core.Segment, err error) {
	const query = "SELECT seq, w, prev, body FROM segments WHERE tenant = ? AND thread = ? AND seq BETWEEN ? AND ? ORDER BY seq"
	err = db.read(ctx, func(s dbfile.Scanner) error {
		segment, err := tables.ScanSegment(s, thread)
		segments = append(segments, segment)
		return err
	}, query, tenant, thread, from, to)
	if err != nil {
		return nil, err
	}
	return segments, nil
}

// PutPayload implements frontend.Store. It does not check that digest belongs to body.
func (db *DB) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	const query = "INSERT INTO payloads (tenant, thread, digest, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
	if body == nil {
		body = []byte{} // nil would be NULL
	}
	return exec(ctx, db, func(t *tx) error {
		_, err := t.Exec(query, tenant, thread, digest, body)
		return err
	})
}

// Payload implements [engine.Store] and frontend.Store.
func (db *DB) Payload(ctx context.Context, tenant, thread, digest string) (body []byte, err error) {
	const query = "SELECT body FROM payloads WHERE tenant = ? AND thread = ? AND digest = ?"
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return s.Scan(&body) }, query, tenant, thread, digest)
	return body, err
}
