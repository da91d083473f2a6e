package engine

import (
	"context"
	"errors"
	"time"
)

// retries are the pauses before a request is sent again; the same request, so that sending it twice
// has the effect of once. patientPause is each one after those, jittered, until the patience has
// run out.
var retries = []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond}

const patientPause = 2 * time.Second

// retrying repeats f while it answers [ErrUnavailable] and that may pass.
func retrying[T any](ctx context.Context, e *Engine, f func() (T, error)) (T, error) {
	return retryingFor(ctx, e, e.o.Patience, f)
}

// retryingFor is retrying with a patience of its own.
func retryingFor[T any](ctx context.Context, e *Engine, patience time.Duration, f func() (T, error)) (T, error) {
	began := e.o.Clock.Now()
	for n := 0; ; n++ {
		v, err := f()
		if !errors.Is(err, ErrUnavailable) || Lasting(err) || n >= len(retries) && e.o.Clock.Now().Sub(began) >= patience {
			return v, err
		}
		pause := patientPause
		if n < len(retries) {
			pause = retries[n]
		} else {
			pause = Jitter(e.o.Random, pause)
		}
		if err := Sleep(ctx, e.o.Clock, pause); err != nil {
			return v, err
		}
	}
}

// Sleep waits for d on c, or until ctx ends, whose error it then returns. A clock that has its own
// way to sleep (a virtual one, which must know who sleeps) is asked to.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if own, ok := c.(interface {
		Sleep(context.Context, time.Duration) error
	}); ok {
		return own.Sleep(ctx, d)
	}
	woken := make(chan struct{})
	stop := c.AfterFunc(d, func() { close(woken) })
	defer stop()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Jitter is between half of whole and all of it, so that many that failed together do not come
// again together.
func Jitter(r Random, whole time.Duration) time.Duration {
	n := 0
	for _, letter := range r.Text(2) {
		n = n*32 + int(letter)%32
	}
	return whole/2 + whole/2*time.Duration(n%1024)/1024
}
