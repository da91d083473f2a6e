package bounds

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Senders hold each address that has no other credential than itself to a rate. Addresses that
// open nothing count, too.
type Senders struct {
	mu   sync.Mutex
	sent map[string]*rate.Limiter
}

const (
	sentPerSecond = 10     // to one address
	sentAtOnce    = 100    // to one address
	mostSenders   = 10_000 // addresses remembered
)

// NewSenders has heard of none.
func NewSenders() *Senders { return &Senders{sent: map[string]*rate.Limiter{}} }

// Take counts a request to an address. One that comes too early isn't counted; wait is how long it
// has to wait.
func (s *Senders) Take(address string, now time.Time) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.sent[address]
	if l == nil {
		if len(s.sent) >= mostSenders {
			clear(s.sent)
		}
		l = rate.NewLimiter(sentPerSecond, sentAtOnce)
		s.sent[address] = l
	}
	reserved := l.ReserveN(now, 1)
	if wait = reserved.DelayFrom(now); wait > 0 {
		reserved.CancelAt(now)
	}
	return wait
}
