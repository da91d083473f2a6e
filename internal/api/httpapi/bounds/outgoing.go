package bounds

import "sync"

// Bounds of the bytes of large answers that are on their way at once: who asks for much and reads
// slowly would else decide how much memory is used. One alone is always sent, and small ones are
// not counted.
const (
	allAnswers    = 16 << 20
	tenantAnswers = allAnswers / 2
)

// SmallAnswer is the length up to which answers are not counted.
const SmallAnswer = 16 << 10

// Outgoing counts the bytes of large answers until callers have taken them.
type Outgoing struct {
	mu     sync.Mutex
	all    int
	tenant map[string]int
}

// NewOutgoing counts none.
func NewOutgoing() *Outgoing { return &Outgoing{tenant: map[string]int{}} }

// Take counts n bytes more, until taken is called. ok is false where that is too much.
func (o *Outgoing) Take(tenant string, n int) (taken func(), ok bool) {
	if n <= SmallAnswer {
		return func() {}, true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all > 0 && o.all+n > allAnswers || o.tenant[tenant] > 0 && o.tenant[tenant]+n > tenantAnswers {
		return nil, false
	}
	o.all += n
	o.tenant[tenant] += n
	return func() { o.taken(tenant, n) }, true
}

func (o *Outgoing) taken(tenant string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all -= n
	if o.tenant[tenant] -= n; o.tenant[tenant] == 0 {
		delete(o.tenant, tenant)
	}
}
