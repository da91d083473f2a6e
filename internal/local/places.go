package local

import (
	"sync"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

var _ sqlite.Places = (*places)(nil)

// Steps bound the steps in progress, those that wait for a tool or the model included. A zero
// member means its default.
type Steps struct {
	// of all tenants; 16 for each worker. A tenant may always have as many as there are
	// workers, even beyond it
	Most   int
	Tenant int // of one tenant; half of Most
}

func (o Options) steps() Steps {
	s := o.Steps
	if s.Most <= 0 {
		s.Most = 16 * o.workers()
	}
	if s.Tenant <= 0 {
		s.Tenant = max(s.Most/2, 1)
	}
	return s
}

// places bound the steps in progress, those that wait for a tool or the model included: each is
// held in memory. A tenant may have up to tenantMost, of all together most. A share is always a
// tenant's own, also when the others have taken all: without it, a few tenants with slow calls
// would keep every other one from beginning.
type places struct {
	most, tenantMost, share int

	freed chan struct{} // holds one signal after a place was freed

	mu     sync.Mutex
	total  int
	tenant map[string]int
}

func newPlaces(most, tenantMost, share int) *places {
	return &places{most: most, tenantMost: tenantMost, share: share, freed: make(chan struct{}, 1), tenant: map[string]int{}}
}

// Take implements [sqlite.Places].
func (p *places) Take(tenant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.tenant[tenant]
	if n >= p.tenantMost || p.total >= p.most && n >= p.share {
		return false
	}
	p.total++
	p.tenant[tenant]++
	return true
}

// Free implements [sqlite.Places].
func (p *places) Free(tenant string) {
	p.mu.Lock()
	p.total--
	if p.tenant[tenant]--; p.tenant[tenant] == 0 {
		delete(p.tenant, tenant)
	}
	p.mu.Unlock()
	select {
	case p.freed <- struct{}{}:
	default:
	}
}
