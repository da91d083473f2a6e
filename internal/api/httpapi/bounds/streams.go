package bounds

import "sync"

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

// Enter counts one more, until leave is called. ok is false where that is too many; open is how
// many the tenant has.
func (s *Streams) Enter(tenant string) (leave func(), open int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.most || s.tenant[tenant] >= s.tenantMost {
		return nil, s.tenant[tenant], false
	}
	s.open++
	s.tenant[tenant]++
	return func() { s.leave(tenant) }, s.tenant[tenant], true
}

func (s *Streams) leave(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.tenant[tenant]--; s.tenant[tenant] == 0 {
		delete(s.tenant, tenant)
	}
}
