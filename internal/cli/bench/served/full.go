package served

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// ErrFull ends a benchmark whose disk is full. Its runs would wait until there is room.
var ErrFull = errors.New("the disk is full; free some room, or name a directory on another disk with --dir")

// look is how often a server is asked for its health, which it answers without its store.
const look = time.Second

// UntilFull returns a context that ends with [ErrFull] as its cause once the server says so.
func UntilFull(ctx context.Context, api *client.Client) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		again := time.NewTicker(look)
		defer again.Stop()
		for {
			if h, err := api.Health(ctx); err == nil && h.Storage == client.StorageFull {
				cancel(ErrFull)
			}
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Why returns the error of a measurement: [ErrFull] if that is why ctx ended.
func Why(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrFull) {
		return ErrFull
	}
	return err
}
