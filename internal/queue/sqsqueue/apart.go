package sqsqueue

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

var _ engine.Waker = Apart{}

// Apart sends the wake-ups of delivery lines to a separate queue, so that an endpoint that does
// not answer takes no step from a run.
type Apart struct{ Runs, Lines *Wake }

// Send implements [engine.Waker].
func (a Apart) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	return a.queue(w.Endpoint != "").Send(ctx, w, delay)
}

// SendAll is [Wake.SendAll], with one request for each of the two queues that has wake-ups.
func (a Apart) SendAll(ctx context.Context, ws []engine.Wakeup) []error {
	errs := make([]error, len(ws))
	for _, lines := range []bool{false, true} {
		var of []engine.Wakeup
		var places []int
		for i, w := range ws {
			if w.Endpoint != "" == lines {
				of, places = append(of, w), append(places, i)
			}
		}
		for n, err := range a.queue(lines).SendAll(ctx, of) {
			errs[places[n]] = err
		}
	}
	return errs
}

func (a Apart) queue(lines bool) *Wake {
	if lines {
		return a.Lines
	}
	return a.Runs
}
