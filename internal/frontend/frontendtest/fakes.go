package frontendtest

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Clock advances only while a test waits: a wait moves it by the waiting time and returns at once.
type Clock struct {
	mu  sync.Mutex
	now time.Time

	// Waiting, if set, is called before each wait is over: what happens meanwhile.
	Waiting func()
}

// NewClock starts at a fixed moment.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now implements [engine.Clock].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements [engine.Clock].
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	waiting := c.Waiting
	c.mu.Unlock()
	go func() {
		if waiting != nil {
			waiting()
		}
		f()
	}()
	return func() {}
}

// Random gives text that differs each time and is the same in each test.
type Random struct {
	mu sync.Mutex
	n  int
}

// Text implements [engine.Random].
func (r *Random) Text(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	sum := sha256.Sum256(fmt.Append(nil, "random ", r.n))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:n]
}

// Catalog is a set of deployed definitions by name.
type Catalog map[string]engine.Definition

// NewCatalog deploys agents of these names.
func NewCatalog(names ...string) Catalog {
	c := Catalog{}
	for _, name := range names {
		c[name] = engine.Definition{Name: name, Digest: "sha256:" + name}
	}
	return c
}

// Current implements frontend.Catalog. The built-in agent is always there.
func (c Catalog) Current(_ context.Context, _, name string) (engine.Definition, error) {
	d, ok := c[name]
	if name == ask.Agent {
		return engine.Definition{Name: name, Digest: "sha256:" + name}, nil
	}
	if !ok {
		return d, engine.ErrNotFound
	}
	return d, nil
}

// Deployed implements frontend.Catalog.
func (c Catalog) Deployed(context.Context, string) ([]engine.Definition, error) {
	var all []engine.Definition
	for _, d := range c {
		all = append(all, d)
	}
	return all, nil
}

// Waker counts the wake-ups it is asked to send, and can be set to fail.
type Waker struct {
	mu   sync.Mutex
	sent []engine.Wakeup
	Err  error
}

// Send implements [engine.Waker].
func (w *Waker) Send(_ context.Context, wakeup engine.Wakeup, _ time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, wakeup)
	return w.Err
}

// Sent is how many wake-ups it was asked to send.
func (w *Waker) Sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sent)
}
