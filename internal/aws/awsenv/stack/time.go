package stack

import (
	"context"
	"time"
)

// drainTime is reserved at the end of an invocation for returning messages and writing metrics.
const drainTime = 3 * time.Second

// InTime returns a context that ends shortly before the invocation does.
func InTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-drainTime))
	}
	return context.WithCancel(ctx)
}
