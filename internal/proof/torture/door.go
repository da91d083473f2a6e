package torture

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// door is where the server answers now. Each life of a server that is killed has an address of its
// own.
type door struct {
	mu     sync.Mutex
	api    *client.Client // nil while it is shut
	opened chan struct{}  // closed when it opens
}

func newDoor() *door { return &door{opened: make(chan struct{})} }

func (d *door) open(api *client.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.api = api
	close(d.opened)
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.api != nil {
		d.api, d.opened = nil, make(chan struct{})
	}
}

// enter waits until the door is open.
func (d *door) enter(ctx context.Context) (*client.Client, error) {
	for {
		d.mu.Lock()
		api, opened := d.api, d.opened
		d.mu.Unlock()
		if api != nil {
			return api, ctx.Err()
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// breath is the pause before a request that got no answer is sent again: its server is dead and the
// next one not there yet, or it is busy.
const breath = 20 * time.Millisecond

// ask sends a request until the server answers it, the same one each time. A refusal is an answer
// and comes as a [*client.Error].
func ask[T any](ctx context.Context, d *door, send func(*client.Client) (T, error)) (v T, err error) {
	for {
		api, down := d.enter(ctx)
		if down != nil {
			return v, errors.Join(down, err)
		}
		v, err = send(api)
		var refused *client.Error
		if err == nil || errors.As(err, &refused) && !refused.Unanswered() {
			return v, err
		}
		select {
		case <-time.After(breath):
		case <-ctx.Done():
			return v, errors.Join(ctx.Err(), err)
		}
	}
}

// refusal is the code that a request was refused with, "" if it was done; every other error means
// that there is no answer.
func refusal(err error) (code string, refused *client.Error, failed error) {
	switch {
	case err == nil:
		return "", nil, nil
	case errors.As(err, &refused) && !refused.Unanswered():
		if refused.Code == "" {
			return "refused", refused, nil
		}
		return refused.Code, refused, nil
	}
	return "", nil, err
}
