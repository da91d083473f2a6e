package bounds

import (
	"fmt"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Streams counts the open ones.
type Streams struct {
	most, tenantMost int

	mu     sync.Mutex
	open   int
	tenant map[string]int
}

// NewStreams lets so many be open at once: of all tenants, and of one.
func NewStreams(most, tenantMost int) *Streams {
	return &Streams{most: most, tenantMost: tenantMost, tenant: map[string]int{}}
}

// Enter counts one more, until leave is called, unless that is too many.
func (s *Streams) Enter(tenant string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.most || s.tenant[tenant] >= s.tenantMost {
		return nil, &refusal.Error{Code: problems.CodeTooManyStreams, RetryAfter: 5 * time.Second,
			Detail: fmt.Sprintf("too many event streams are open, %d of them by this tenant; close some, or read pages", s.tenant[tenant])}
	}
	s.open++
	s.tenant[tenant]++
	return func() { s.leave(tenant) }, nil
}

func (s *Streams) leave(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.tenant[tenant]--; s.tenant[tenant] == 0 {
		delete(s.tenant, tenant)
	}
}

// Seat is that of one stream among those that are counted, if it was taken.
type Seat struct{ leave func() }

// Take keeps what a stream that was entered leaves by.
func (s *Seat) Take(leave func()) { s.leave = leave }

// Taken says whether the stream is counted.
func (s *Seat) Taken() bool { return s.leave != nil }

// Leave ends the stream, if it was counted.
func (s *Seat) Leave() {
	if s.leave != nil {
		s.leave()
	}
}
