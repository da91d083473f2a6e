package frontend

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// How often a held read looks again.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = time.Second
)

// spokenLook is the shortest time between two looks that live text causes. Each look reads the
// head, and a fast model must not make these reads more frequent.
const spokenLook = 100 * time.Millisecond

// Until calls look until it reports enough, wait (capped at the limit) has passed, or the server
// stops. It looks again when the thread changes, if a Watch reports that; when live text arrives,
// if live is set; and after a pause with backoff.
func (f *Frontend) Until(ctx context.Context, c Caller, thread string, wait time.Duration, live bool, look func() (enough bool, err error)) error {
	if wait <= 0 {
		_, err := look()
		return err
	}
	changed, stop := f.changes(c, thread)
	defer stop()
	said, leave := f.speech(c, thread, live)
	defer leave()
	return f.lookUntil(ctx, wait, changed, said, look)
}

// UntilFeed is until for the feed of a tenant.
func (f *Frontend) UntilFeed(ctx context.Context, c Caller, wait time.Duration, look func() (enough bool, err error)) error {
	if wait <= 0 {
		_, err := look()
		return err
	}
	var changed <-chan struct{}
	if f.watch != nil {
		of, stop := f.watch(c.Tenant, "")
		defer stop()
		changed = of
	}
	return f.lookUntil(ctx, wait, changed, nil, look)
}

func (f *Frontend) lookUntil(ctx context.Context, wait time.Duration, changed, said <-chan struct{}, look func() (enough bool, err error)) error {
	held, release := f.held(ctx)
	defer release()
	first := firstLook
	if changed != nil {
		first = lastLook
	}
	end := f.Clock.Now().Add(min(wait, f.limits.Wait))
	for pause := first; ; pause = min(pause*3/2, lastLook) {
		looked := f.Clock.Now()
		enough, err := look()
		left := end.Sub(f.Clock.Now())
		if err != nil || enough || left <= 0 {
			return err
		}
		spoken, err := f.pauseUnless(held, min(pause, left), changed, said)
		if soon := min(looked.Add(spokenLook).Sub(f.Clock.Now()), end.Sub(f.Clock.Now())); err == nil && spoken && soon > 0 {
			_, err = f.pauseUnless(held, soon, changed, nil)
		}
		if err != nil {
			// nil: the server stops, and what look found last is the answer
			return ctx.Err()
		}
	}
}

// changes are nil where the server is not notified of them.
func (f *Frontend) changes(c Caller, thread string) (changed <-chan struct{}, stop func()) {
	if f.watch == nil || thread == "" {
		return nil, func() {}
	}
	return f.watch(c.Tenant, thread)
}

// speech is nil where live text is not available, or not wanted.
func (f *Frontend) speech(c Caller, thread string, wanted bool) (said <-chan struct{}, stop func()) {
	if f.Live == nil || !wanted || thread == "" {
		return nil, func() {}
	}
	return f.Live.Watch(c.Tenant, thread)
}

// pauseUnless is pause, cut short by a change or by live text; spoken reports the latter.
func (f *Frontend) pauseUnless(ctx context.Context, d time.Duration, changed, said <-chan struct{}) (spoken bool, err error) {
	if changed == nil && said == nil {
		return false, engine.Sleep(ctx, f.Clock, d)
	}
	over := make(chan struct{})
	stop := f.Clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return false, nil
	case <-changed:
		return false, nil
	case <-said:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// held is ctx until the server stops.
func (f *Frontend) held(ctx context.Context) (context.Context, context.CancelFunc) {
	held, release := context.WithCancel(ctx)
	if f.stopping != nil {
		go func() {
			select {
			case <-f.stopping:
				release()
			case <-held.Done():
			}
		}()
	}
	return held, release
}
