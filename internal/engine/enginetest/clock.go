package enginetest

import (
	"sync"
	"time"
)

// Clock is a virtual clock that only moves when a test moves it. It implements engine.Clock and is
// safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer // by time, then in the order they were set
}

type timer struct {
	at time.Time
	f  func()
}

// NewClock returns a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// AtMilli returns a clock that shows ms milliseconds since the Unix epoch.
func AtMilli(ms int64) *Clock { return NewClock(time.UnixMilli(ms).UTC()) }

// Now is the time the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc calls f when the clock has been moved by d, unless stop is called before. If d is not
// positive, f is called by the next move, even one by nothing.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Add(d), f: f}
	i := len(c.timers)
	for i > 0 && c.timers[i-1].at.After(t.at) {
		i--
	}
	c.timers = append(c.timers[:i], append([]*timer{t}, c.timers[i:]...)...)
	return func() { c.remove(t) }
}

func (c *Clock) remove(t *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.timers {
		if other == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return
		}
	}
}

// Next is when the first AfterFunc is due; false if none waits.
func (c *Clock) Next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return time.Time{}, false
	}
	return c.timers[0].at, true
}

// Advance moves the clock by d and calls what falls due on the way, one after the other, each at
// its time; it waits for each to return. What they set is called too if it is due by the end.
func (c *Clock) Advance(d time.Duration) {
	end := c.Now().Add(d)
	for {
		f := c.pop(end)
		if f == nil {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
}

// pop moves to the next timer by end and takes it; nil, and the clock at end, if there is none.
func (c *Clock) pop(end time.Time) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 || c.timers[0].at.After(end) {
		if end.After(c.now) {
			c.now = end
		}
		return nil
	}
	t := c.timers[0]
	c.timers = c.timers[1:]
	if t.at.After(c.now) {
		c.now = t.at
	}
	return t.f
}
