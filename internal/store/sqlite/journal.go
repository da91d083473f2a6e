package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// segmentText is a segment without the fields that have columns of their own.
func segmentText(s core.Segment) string {
	s.Seq, s.W, s.Prev = 0, 0, 0
	return text(s)
}

// Segments implements [engine.Store] and frontend.Store.
func (db *DB) Segments(ctx context.Context, tenant, thread string, from, to int64) (segments []core.Segment, err error) {
	const query = "SELECT seq, w, prev, body FROM segments WHERE tenant = ? AND thread = ? AND seq BETWEEN ? AND ? ORDER BY seq"
	err = db.read(ctx, func(s dbfile.Scanner) error {
		segment, err := scanSegment(s)
		segments = append(segments, segment)
		return err
	}, query, tenant, thread, from, to)
	if err != nil {
		return nil, err
	}
	return segments, nil
}

func scanSegment(s dbfile.Scanner) (core.Segment, error) {
	var seq, w, prev int64
	var raw []byte
	if err := s.Scan(&seq, &w, &prev, &raw); err != nil {
		return core.Segment{}, unreadable("segment", err)
	}
	var segment core.Segment
	if err := json.Unmarshal(raw, &segment); err != nil {
		return core.Segment{}, unreadable(fmt.Sprintf("segment %d", seq), err)
	}
	segment.Seq, segment.W, segment.Prev = seq, core.Stamp(w), core.Stamp(prev)
	return segment, nil
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
