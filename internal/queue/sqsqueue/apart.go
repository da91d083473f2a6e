package sqsqueue

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

var _ engine.Waker = Apart{}

// Apart sends the wake-ups of delivery lines to a separate queue, so that an endpoint that does
// not answer takes no step from a run.
type Apart struct{ Runs, Lines engine.Waker }

// Send implements [engine.Waker].
func (a Apart) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	if w.Endpoint != "" {
		return a.Lines.Send(ctx, w, delay)
	}
	return a.Runs.Send(ctx, w, delay)
}
