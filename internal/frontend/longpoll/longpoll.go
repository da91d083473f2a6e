// Package longpoll holds a read until there is something to read, or until its caller has waited
// long enough.
package longpoll

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

// Speech tells of live text.
type Speech interface {
	// Watch returns a channel that gets a signal soon after what is said in the thread has
	// changed, and a function that ends that.
	Watch(tenant, thread string) (changed <-chan struct{}, stop func())
}

// Reads holds the reads of all callers. Clock and Longest are required.
type Reads struct {
	Clock   engine.Clock
	Longest time.Duration // a read is held

	// Stopping, Watch and Live are those of frontend.Options. Each may be nil.
	Stopping <-chan struct{}
	Watch    func(tenant, thread string) (changed <-chan struct{}, stop func())
	Live     Speech

	// Stamp equals an earlier one if a read would see the same, because nothing was stored
	// in between; empty: that isn't known. It reads nothing that is stored. Nil: it is never
	// known.
	Stamp func(ctx context.Context) string

	unchanged Unchanged
}

// Until calls look until it reports enough, wait (capped at Longest) has passed, the server stops,
// or the request's [Hold] ends. It looks again when the thread changes, if a Watch reports that;
// when live text arrives, if live is set; and after a pause with backoff.
func (r *Reads) Until(ctx context.Context, tenant, thread string, wait time.Duration, live bool, look func() (enough bool, err error)) error {
	if wait <= 0 {
		_, err := look()
		return err
	}
	changed, stop := r.changes(tenant, thread)
	defer stop()
	said, leave := r.speech(tenant, thread, live)
	defer leave()
	return r.lookUntil(ctx, wait, changed, said, look)
}

// UntilFeed is Until for the feed of a tenant. place is all that a look depends on beside what is
// stored; nil if it depends on the time, too. It doesn't look again where it found nothing, also in
// an earlier call, before something is stored.
func (r *Reads) UntilFeed(ctx context.Context, tenant string, place any, wait time.Duration, look func() (enough bool, err error)) error {
	if r.Stamp != nil && place != nil {
		look = r.onceStored(ctx, place, look)
	}
	if wait <= 0 {
		_, err := look()
		return err
	}
	var changed <-chan struct{}
	if r.Watch != nil {
		of, stop := r.Watch(tenant, "")
		defer stop()
		changed = of
	}
	return r.lookUntil(ctx, wait, changed, nil, look)
}

// onceStored looks if something may have been stored since a look at the place found nothing.
func (r *Reads) onceStored(ctx context.Context, place any, look func() (enough bool, err error)) func() (bool, error) {
	return func() (bool, error) {
		stamp := r.Stamp(ctx) // before the look, which may see more
		if r.unchanged.Since(place, stamp) {
			return false, nil
		}
		enough, err := look()
		if err == nil && !enough {
			r.unchanged.Note(place, stamp)
		}
		return enough, err
	}
}

func (r *Reads) lookUntil(ctx context.Context, wait time.Duration, changed, said <-chan struct{}, look func() (enough bool, err error)) error {
	held, release := r.held(ctx)
	defer release()
	hold := paidBy(ctx)
	defer hold.Over()
	var paid time.Time
	first := firstLook
	if changed != nil {
		first = lastLook
	}
	end := r.Clock.Now().Add(min(wait, r.Longest))
	for pause := first; ; pause = min(pause*3/2, lastLook) {
		looked := r.Clock.Now()
		enough, err := look()
		now := r.Clock.Now()
		left := end.Sub(now)
		if err != nil || enough || left <= 0 {
			return err
		}
		if !now.Before(paid) {
			more := hold.More(ctx)
			if paid = now.Add(more); more <= 0 {
				return nil
			}
		}
		spoken, err := r.pauseUnless(held, min(pause, left), changed, said)
		if soon := min(looked.Add(spokenLook).Sub(r.Clock.Now()), end.Sub(r.Clock.Now())); err == nil && spoken && soon > 0 {
			_, err = r.pauseUnless(held, soon, changed, nil)
		}
		if err != nil {
			// nil: the server stops, and what look found last is the answer
			return ctx.Err()
		}
	}
}

// changes are nil where the server is not notified of them.
func (r *Reads) changes(tenant, thread string) (changed <-chan struct{}, stop func()) {
	if r.Watch == nil || thread == "" {
		return nil, func() {}
	}
	return r.Watch(tenant, thread)
}

// speech is nil where live text is not available, or not wanted.
func (r *Reads) speech(tenant, thread string, wanted bool) (said <-chan struct{}, stop func()) {
	if r.Live == nil || !wanted || thread == "" {
		return nil, func() {}
	}
	return r.Live.Watch(tenant, thread)
}

// pauseUnless is [engine.Sleep], cut short by a change or by live text; spoken reports the latter.
func (r *Reads) pauseUnless(ctx context.Context, d time.Duration, changed, said <-chan struct{}) (spoken bool, err error) {
	if changed == nil && said == nil {
		return false, engine.Sleep(ctx, r.Clock, d)
	}
	over := make(chan struct{})
	stop := r.Clock.AfterFunc(d, func() { close(over) })
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
func (r *Reads) held(ctx context.Context) (context.Context, context.CancelFunc) {
	held, release := context.WithCancel(ctx)
	if r.Stopping != nil {
		go func() {
			select {
			case <-r.Stopping:
				release()
			case <-held.Done():
			}
		}()
	}
	return held, release
}
