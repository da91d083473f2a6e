package stack

import (
	"context"
	"time"
)

// drainTime is kept of an invocation's time for what must be done when its work is over: giving
// messages back and writing metrics.
const drainTime = 3 * time.Second

// InTime ends a little before the invocation does.
func InTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-drainTime))
	}
	return context.WithCancel(ctx)
}
