package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// ErrSlow is the cause of a context that ended because its [Patience] ran out.
var ErrSlow = errors.New("no time is left")

// Patience ends a context after a period without a sign of life, measured by the given clock. It is
// safe for concurrent use.
type Patience struct {
	clock engine.Clock
	quiet time.Duration
	ends  time.Time
	end   context.CancelCauseFunc

	mu   sync.Mutex
	stop func()
	over bool
}

// NewPatience returns a context that ends when quiet has passed since the last sign of life, and at
// the latest after longest, if that is longer than quiet. The caller calls End when the work is
// done.
func NewPatience(ctx context.Context, clock engine.Clock, quiet, longest time.Duration) (context.Context, *Patience) {
	ctx, end := context.WithCancelCause(ctx)
	p := &Patience{clock: clock, quiet: quiet, ends: clock.Now().Add(max(quiet, longest)), end: end}
	p.Renew()
	return ctx, p
}

// Renew records a sign of life: the quiet period starts again.
func (p *Patience) Renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	if p.stop != nil {
		p.stop()
	}
	p.stop = p.clock.AfterFunc(min(p.quiet, p.ends.Sub(p.clock.Now())), func() { p.end(ErrSlow) })
}

// Allows reports whether there is time left after a pause.
func (p *Patience) Allows(pause time.Duration) bool { return p.clock.Now().Add(pause).Before(p.ends) }

// End ends the context. Later signs of life have no effect.
func (p *Patience) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.stop()
	p.end(nil)
}
