package bounds

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Paces hold each tenant to the rate of what it may start. Tenants are few and come from the keys,
// so that they are kept.
type Paces struct {
	perSecond rate.Limit

	mu     sync.Mutex
	tenant map[string]*rate.Limiter
}

// NewPaces lets each tenant start so much per second; 0 is no limit.
func NewPaces(perSecond float64) *Paces {
	return &Paces{perSecond: rate.Limit(perSecond), tenant: map[string]*rate.Limiter{}}
}

// burst is how many may come at once: what the rate lets through in ten seconds, and one at least.
func (p *Paces) burst() int { return max(1, int(10*p.perSecond)) }

// Take counts a request. One that comes too early isn't counted; wait is how long it has to wait.
func (p *Paces) Take(tenant string, now time.Time) (wait time.Duration) {
	if p.perSecond <= 0 {
		return 0
	}
	reserved := p.of(tenant).ReserveN(now, 1)
	if wait = reserved.DelayFrom(now); wait > 0 {
		reserved.CancelAt(now)
	}
	return wait
}

func (p *Paces) of(tenant string) *rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.tenant[tenant]
	if l == nil {
		l = rate.NewLimiter(p.perSecond, p.burst())
		p.tenant[tenant] = l
	}
	return l
}
