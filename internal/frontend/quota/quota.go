// Package quota bounds what a tenant may store: it refuses a request after which the tenant would
// have more than that.
package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Bounds are what one tenant may store at most. A zero bound is none.
type Bounds struct {
	Bytes int64 // stored, of inputs, messages, the journal and what is beside it
	Runs  int   // that are not done

	// Stored returns how much a tenant has stored. It is checked before a run or a message is
	// stored, never before a request that lets a run end: decisions, cancels, interrupts and
	// resumes work beyond the bounds.
	Stored func(ctx context.Context, tenant string) (Stored, error)
}

// Stored is what a tenant has stored.
type Stored struct {
	Bytes int64
	Runs  int // that are not done
}

// Gate holds requests to the bounds. Data that is still being stored counts already, so concurrent
// requests cannot exceed the bounds together.
type Gate struct {
	Bounds

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
	runsAfter  = 10 * time.Second
	bytesAfter = time.Minute
)

// Enter says whether the tenant may store more, and counts it until leave is called.
func (g *Gate) Enter(ctx context.Context, tenant string, more Stored) (leave func(), err error) {
	if g.Stored == nil || g.Bytes == 0 && g.Runs == 0 {
		return func() {}, nil
	}
	p := g.of(tenant)
	p.asking.Lock()
	defer p.asking.Unlock()
	// read first: what is stored meanwhile may count twice, but is never missed
	sum := p.add(Stored{})
	stored, err := g.Stored(ctx, tenant)
	if err == nil {
		err = g.check(tenant, stored, Stored{Bytes: stored.Bytes + sum.Bytes + more.Bytes, Runs: stored.Runs + sum.Runs + more.Runs}, more)
	}
	if err != nil {
		return nil, err
	}
	p.add(more)
	return func() { p.add(Stored{Bytes: -more.Bytes, Runs: -more.Runs}) }, nil
}

func (g *Gate) of(tenant string) *pending {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tenants == nil {
		g.tenants = map[string]*pending{}
	}
	if g.tenants[tenant] == nil {
		g.tenants[tenant] = &pending{}
	}
	return g.tenants[tenant]
}

func (p *pending) add(more Stored) (sum Stored) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum.Bytes += more.Bytes
	p.sum.Runs += more.Runs
	return p.sum
}

// check refuses a request after which the tenant would have more than it may.
func (g *Gate) check(tenant string, now, then, more Stored) error {
	switch {
	case g.Bytes > 0 && then.Bytes > g.Bytes:
		return &refusal.Error{Code: refusal.CodeTenantFull, RetryAfter: bytesAfter, Detail: fmt.Sprintf(
			"tenant %q uses %d bytes of storage and its limit is %d; nothing was stored, but decisions and cancels still work. "+
				"Ask the operator to raise --tenant-bytes", tenant, now.Bytes, g.Bytes)}
	case g.Runs > 0 && more.Runs > 0 && then.Runs > g.Runs:
		return &refusal.Error{Code: refusal.CodeTooManyRuns, RetryAfter: runsAfter, Detail: fmt.Sprintf(
			"tenant %q has %d open runs and its limit is %d; nothing was stored. "+
				"Answer suspended runs, cancel runs that are no longer needed, or ask the operator to raise --tenant-runs", tenant, now.Runs, g.Runs)}
	}
	return nil
}
