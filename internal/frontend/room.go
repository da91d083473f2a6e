package frontend

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
)

// room reserves what a request is about to store, until leave is called.
func (f *Frontend) room(ctx context.Context, c Caller, b beginning, runs int) (leave func(), err error) {
	return f.quota.Enter(ctx, c.Tenant, quota.Stored{Bytes: int64(len(b.parts) + len(b.metadata) + len(b.narrow) + len(b.targets) + len(b.given.stored)), Runs: runs})
}

// roomOnThread is room for a request on a thread. A repeat of a stored request stores nothing, so
// it gets its answer even if the quota is exhausted: s is that answer if known.
func (f *Frontend) roomOnThread(ctx context.Context, c Caller, b beginning, runs int) (leave func(), s Started, known bool, err error) {
	leave, why := f.room(ctx, c, b, runs)
	if why == nil {
		return leave, Started{}, false, nil
	}
	if s, known, err = f.known(ctx, c, b); known || err != nil {
		return nil, s, known, err
	}
	return nil, Started{}, false, why
}

// roomInRun is room for a message to the open run of h. A message that answers a tool's question is
// a decision, which is accepted even if the quota is exhausted.
func (f *Frontend) roomInRun(ctx context.Context, c Caller, b beginning, h core.Head) (leave func(), s Started, known bool, err error) {
	if b.answers(h) {
		return func() {}, Started{}, false, nil
	}
	return f.roomOnThread(ctx, c, b, 0)
}
