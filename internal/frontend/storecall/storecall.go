// Package storecall asks a store again while it does not answer, and refuses the request in the
// caller's words once that has gone on for too long.
package storecall

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// If the store doesn't answer, the same request is sent again before the caller gets an error.
const (
	tries      = 3
	FirstPause = 25 * time.Millisecond
	// of all tries: a store that takes that long to fail is not asked again
	longest = 5 * time.Second
)

// Try repeats op while the store does not answer and that may pass. In the end it says so as
// [refusal.Storage] does.
func Try[T any](ctx context.Context, clock engine.Clock, op func() (T, error)) (T, error) {
	began := clock.Now()
	for n, pause := 1, FirstPause; ; n, pause = n+1, 4*pause {
		v, err := op()
		if !errors.Is(err, engine.ErrUnavailable) {
			return v, err
		}
		if n == tries || errors.Is(err, engine.ErrNoRoom) || engine.Lasting(err) || clock.Now().Sub(began) > longest {
			return v, refusal.Storage(err)
		}
		if err := engine.Sleep(ctx, clock, pause); err != nil {
			return v, err
		}
	}
}

// TryEntry is [Try] for one entry of a list: one that is damaged counts as its zero value, and
// hides no other.
func TryEntry[T any](ctx context.Context, clock engine.Clock, op func() (T, error)) (T, error) {
	v, err := Try(ctx, clock, op)
	if err != nil && Damaged(ctx, err) {
		var none T
		return none, nil
	}
	return v, err
}

// Damaged says whether err concerns what is stored of one entry only, so that others may be
// readable.
func Damaged(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, engine.ErrUnreadable) || errors.Is(err, engine.ErrDamaged) || !errors.Is(err, engine.ErrUnavailable))
}
