package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// segmentBody is a segment without what stands in columns of its own.
type segmentBody struct {
	core.Segment
	Seq  *hidden `json:"seq,omitempty"`
	W    *hidden `json:"w,omitempty"`
	Prev *hidden `json:"prev,omitempty"`
}

// Segments implements [engine.Store] and frontend.Store.
func (db *DB) Segments(ctx context.Context, tenant, thread string, from, to int64) (segments []core.Segment, err error) {
	const query = "SELECT seq, w, prev, body FROM segments WHERE tenant = ? AND thread = ? AND seq BETWEEN ? AND ? ORDER BY seq"
	err = db.read(ctx, func(s scanner) error {
		segment, err := scanSegment(s)
		segments = append(segments, segment)
		return err
	}, query, tenant, thread, from, to)
	if err != nil {
		return nil, err
	}
	return segments, nil
}

func scanSegment(s scanner) (core.Segment, error) {
	var b segmentBody
	var raw []byte
	if err := s.Scan(&b.Segment.Seq, &b.Segment.W, &b.Segment.Prev, &raw); err != nil {
		return core.Segment{}, unavailable(err)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return core.Segment{}, unreadable(fmt.Sprintf("segment %d", b.Segment.Seq), err)
	}
	return b.Segment, nil
}

// PutPayload implements frontend.Store. It does not check that digest is body's.
func (db *DB) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	const query = "INSERT INTO payloads (tenant, thread, digest, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
	if body == nil {
		body = []byte{} // nil would be NULL
	}
	return exec(ctx, db, func(t *tx) error {
		_, err := t.exec(query, tenant, thread, digest, body)
		return err
	})
}

// Payload implements [engine.Store] and frontend.Store.
func (db *DB) Payload(ctx context.Context, tenant, thread, digest string) (body []byte, err error) {
	const query = "SELECT body FROM payloads WHERE tenant = ? AND thread = ? AND digest = ?"
	err = db.readOne(ctx, func(s scanner) error { return s.Scan(&body) }, query, tenant, thread, digest)
	return body, err
}
