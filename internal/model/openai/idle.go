package openai

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// errIdle reports that nothing arrived for too long.
var errIdle = errors.New("openai: nothing arrived for too long")

// idle ends a request when nothing has arrived for a while, measured by the given clock.
type idle struct {
	clock  engine.Clock
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	limit time.Duration
	since time.Time
	fixed bool // arrivals no longer extend the time
	over  bool
	stop  func()
}

func watchIdle(clock engine.Clock, limit time.Duration, cancel context.CancelCauseFunc) *idle {
	i := &idle{clock: clock, cancel: cancel}
	i.now(limit)
	return i
}

// now records an arrival; the next one may take as long as limit.
func (i *idle) now(limit time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		i.stop()
	}
	i.limit, i.since = limit, i.clock.Now()
	i.arm(limit)
}

// last records that everything needed has arrived: the rest may take as long as limit, and arrivals
// no longer extend that.
func (i *idle) last(limit time.Duration) {
	i.now(limit)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fixed = true
}

func (i *idle) arm(d time.Duration) { i.stop = i.clock.AfterFunc(d, i.fire) }

// fire checks the actual idle time, because a new timer for every piece would be expensive.
func (i *idle) fire() {
	i.mu.Lock()
	defer i.mu.Unlock()
	rest := i.limit - i.clock.Now().Sub(i.since)
	switch {
	case i.over:
	case rest > 0:
		i.arm(rest)
	default:
		i.cancel(errIdle)
	}
}

func (i *idle) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.over = true
	i.stop()
}

func (i *idle) came() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.fixed {
		i.since = i.clock.Now()
	}
}

func (i *idle) reader(r io.Reader) io.Reader { return idleReader{i, r} }

type idleReader struct {
	*idle
	from io.Reader
}

func (r idleReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if n > 0 {
		r.came()
	}
	return n, err
}
