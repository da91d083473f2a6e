package bounds

import (
	"context"
	"sync"
	"time"
)

// Tickets knows which tickets of streams were used.
type Tickets interface {
	// Use marks a ticket as used until it expires; first is false if it was before. After an
	// error it may be marked.
	Use(ctx context.Context, id string, expires time.Time) (first bool, err error)
}

// UsedTickets is [Tickets] of one process.
type UsedTickets struct {
	now func() time.Time

	mu    sync.Mutex
	until map[string]time.Time
	clear time.Time // when expired ones are forgotten next
}

// NewTickets knows of none.
func NewTickets(now func() time.Time) *UsedTickets {
	return &UsedTickets{now: now, until: map[string]time.Time{}}
}

// Use implements [Tickets]. Tickets live for a minute and are signed, so that they are few.
func (u *UsedTickets) Use(_ context.Context, id string, expires time.Time) (first bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now := u.now(); !now.Before(u.clear) {
		for one, end := range u.until {
			if !now.Before(end) {
				delete(u.until, one)
			}
		}
		u.clear = now.Add(time.Minute)
	}
	_, used := u.until[id]
	u.until[id] = expires
	return !used, nil
}
