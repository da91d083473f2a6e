package access

import (
	"context"
	"sync"
	"time"
)

// Ring keeps link keys that are stored elsewhere, so that they are not read for each link, and are
// read again soon enough that a key which was taken away opens nothing any more. Safe for
// concurrent use.
type Ring struct {
	fetch func(context.Context) (LinkKeys, error)
	now   func() time.Time

	mu   sync.Mutex
	keys LinkKeys
	at   time.Time // when they were asked for; zero: not yet
}

// NewRing makes a ring that has fetched nothing yet.
func NewRing(fetch func(context.Context) (LinkKeys, error), now func() time.Time) *Ring {
	return &Ring{fetch: fetch, now: now}
}

// Keys returns the keys, fetched at most age ago. It returns an error if they can't be fetched,
// because older keys may include one that was removed.
func (r *Ring) Keys(ctx context.Context, age time.Duration) (LinkKeys, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if !r.at.IsZero() && now.Sub(r.at) <= age {
		return r.keys, nil
	}
	keys, err := r.fetch(ctx)
	if err != nil {
		return nil, err
	}
	r.keys, r.at = keys, now
	return keys, nil
}
