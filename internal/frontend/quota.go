package frontend

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Quota bounds what one tenant may store. A zero bound is none.
type Quota struct {
	Bytes int64 // stored, of inputs, messages, the journal and what is beside it
	Runs  int   // that are not done

	// Stored returns how much a tenant has stored. It is checked before a run or a message is
	// stored, never before a request that lets a run end: decisions, cancels, interrupts and
	// resumes work beyond the quota.
	Stored func(ctx context.Context, tenant string) (Stored, error)
}

// Stored is what a tenant has stored.
type Stored struct {
	Bytes int64
	Runs  int // that are not done
}

// quotas enforce a quota on requests. Data that is still being stored counts already, so concurrent
// requests cannot exceed the quota together.
type quotas struct {
	Quota

	mu      sync.Mutex
	tenants map[string]*pending
}

// pending is what a tenant's requests are storing now.
type pending struct {
	asking sync.Mutex // one request after the other is let in

	mu  sync.Mutex
	sum Stored
}

// How long a refused caller should wait. Runs end all the time; stored bytes need an operator.
const (
	quotaRunsAfter  = 10 * time.Second
	quotaBytesAfter = time.Minute
)

// enter says whether the tenant may store more, and counts it until leave is called.
func (q *quotas) enter(ctx context.Context, tenant string, more Stored) (leave func(), err error) {
	if q.Stored == nil || q.Bytes == 0 && q.Runs == 0 {
		return func() {}, nil
	}
	p := q.of(tenant)
	p.asking.Lock()
	defer p.asking.Unlock()
	// read first: what is stored meanwhile may count twice, but is never missed
	sum := p.add(Stored{})
	stored, err := q.Stored(ctx, tenant)
	if err == nil {
		err = q.check(tenant, stored, Stored{Bytes: stored.Bytes + sum.Bytes + more.Bytes, Runs: stored.Runs + sum.Runs + more.Runs}, more)
	}
	if err != nil {
		return nil, err
	}
	p.add(more)
	return func() { p.add(Stored{Bytes: -more.Bytes, Runs: -more.Runs}) }, nil
}

func (q *quotas) of(tenant string) *pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tenants == nil {
		q.tenants = map[string]*pending{}
	}
	if q.tenants[tenant] == nil {
		q.tenants[tenant] = &pending{}
	}
	return q.tenants[tenant]
}

func (p *pending) add(more Stored) (sum Stored) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum.Bytes += more.Bytes
	p.sum.Runs += more.Runs
	return p.sum
}

// check refuses a request after which the tenant would have more than it may.
func (q *quotas) check(tenant string, now, then, more Stored) error {
	switch {
	case q.Bytes > 0 && then.Bytes > q.Bytes:
		return &refusal.Error{Code: refusal.CodeTenantFull, RetryAfter: quotaBytesAfter, Detail: fmt.Sprintf(
			"tenant %q uses %d bytes of storage and its limit is %d; nothing was stored, but decisions and cancels still work. "+
				"Ask the operator to raise --tenant-bytes", tenant, now.Bytes, q.Bytes)}
	case q.Runs > 0 && more.Runs > 0 && then.Runs > q.Runs:
		return &refusal.Error{Code: refusal.CodeTooManyRuns, RetryAfter: quotaRunsAfter, Detail: fmt.Sprintf(
			"tenant %q has %d open runs and its limit is %d; nothing was stored. "+
				"Answer suspended runs, cancel runs that are no longer needed, or ask the operator to raise --tenant-runs", tenant, now.Runs, q.Runs)}
	}
	return nil
}

// room reserves what a request is about to store, until leave is called.
func (f *Frontend) room(ctx context.Context, c Caller, b beginning, runs int) (leave func(), err error) {
	return f.quotas.enter(ctx, c.Tenant, Stored{Bytes: int64(len(b.parts) + len(b.metadata) + len(b.narrow)), Runs: runs})
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
