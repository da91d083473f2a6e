package sqlite_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// inTurn sends each call to one of two handles of one file, in turn.
type inTurn struct {
	dbs   [2]*sqlite.DB
	calls atomic.Int64
}

func (s *inTurn) db() *sqlite.DB { return s.dbs[s.calls.Add(1)%2] }

func (s *inTurn) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	return s.db().Claim(ctx, req)
}

func (s *inTurn) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	return s.db().Commit(ctx, req)
}

func (s *inTurn) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	return s.db().Load(ctx, tenant, thread)
}

func (s *inTurn) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	return s.db().Segments(ctx, tenant, thread, from, to)
}

func (s *inTurn) Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error) {
	return s.db().Payload(ctx, tenant, thread, digest)
}

func (s *inTurn) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	return s.db().PutPayload(ctx, tenant, thread, digest, body)
}

func (s *inTurn) TakeOverdue(ctx context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	return s.db().TakeOverdue(ctx, now, next, limit)
}

func (s *inTurn) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	return s.db().Start(ctx, req)
}

func (s *inTurn) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	return s.db().Signal(ctx, req)
}

func (s *inTurn) Used(ctx context.Context, tenant, key string) (engine.Key, error) {
	return s.db().Used(ctx, tenant, key)
}

func (s *inTurn) Archived(ctx context.Context, tenant, run string) (core.Record, error) {
	return s.db().Archived(ctx, tenant, run)
}

func (s *inTurn) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	return s.db().Runs(ctx, tenant, thread, cursor, limit)
}

func (s *inTurn) RunsBehind(born int64, run string) string { return s.db().RunsBehind(born, run) }

func (s *inTurn) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	return s.db().Approvals(ctx, tenant, cursor, limit)
}

func (s *inTurn) Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	return s.db().Feed(ctx, tenant, q)
}

func (s *inTurn) FeedLag() time.Duration { return s.db().FeedLag() }
