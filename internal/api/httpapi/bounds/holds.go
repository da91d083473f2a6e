package bounds

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
)

// heldPiece is for how many seconds a read is held before more are taken. A read costs one piece at
// least, so that short ones can't be many at once.
const heldPiece = 5

// HeldAgain is when to send a read again that could not be held.
const HeldAgain = 5 * time.Second

// Holds bound how many reads are held: in this process by their number, and over all processes by
// the seconds for which they are held, of each tenant and of all.
type Holds struct {
	open  *Streams
	paces Paces
	now   func() time.Time
}

// NewHolds lets so many be held here at once: of all tenants, and of one.
func NewHolds(most, tenantMost int, p Paces, now func() time.Time) *Holds {
	return &Holds{NewStreams(most, tenantMost), p, now}
}

// Of is the hold of one request.
func (h *Holds) Of(tenant string) *Hold { return &Hold{holds: h, tenant: tenant} }

// Hold is for how long the reads of one request are held. It implements longpoll.Hold.
type Hold struct {
	holds  *Holds
	tenant string
	cut    atomic.Bool

	mu    sync.Mutex
	leave func()
}

// More takes the seconds of the tenant first, so that a tenant beyond its rate takes none of
// others. What can't be counted is not held: its reader loses nothing.
func (h *Hold) More(ctx context.Context) time.Duration {
	if h.cut.Load() || !h.entered() {
		h.cut.Store(true)
		return 0
	}
	longest := time.Hour // of a request
	for _, of := range []struct {
		kind   pace.Kind
		tenant string
	}{{pace.Held, h.tenant}, {pace.HeldByAll, ""}} {
		r := h.holds.paces.Rates[of.kind]
		if !r.Limits() {
			continue
		}
		longest = heldPiece * time.Second
		if wait, err := h.holds.paces.Buckets.Take(ctx, of.kind, of.tenant, r, min(heldPiece, r.Burst), h.holds.now()); wait > 0 || err != nil {
			h.cut.Store(true)
			return 0
		}
	}
	return longest
}

func (h *Hold) entered() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leave != nil {
		return true
	}
	leave, err := h.holds.open.Enter(h.tenant)
	h.leave = leave
	return err == nil
}

// Over implements longpoll.Hold.
func (h *Hold) Over() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leave != nil {
		h.leave()
		h.leave = nil
	}
}

// Cut says whether a read was answered before its time.
func (h *Hold) Cut() bool { return h.cut.Load() }
