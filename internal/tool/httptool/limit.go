package httptool

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// errSlow is the cause of a context whose time was over.
var errSlow = errors.New("no time is left")

// limited is ctx with an end, by the clock that was brought.
func limited(ctx context.Context, clock engine.Clock, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := clock.AfterFunc(d, func() { cancel(errSlow) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
