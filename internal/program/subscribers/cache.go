package subscribers

import (
	"sync"
	"time"
)

// mostKept limits each cache: runs, and so the endpoints that starts name, are without number.
const mostKept = 1000

// cache keeps what was read for a while; with no life, for as long as there is room. Two reads of
// one key at once both read.
type cache[K comparable, V any] struct {
	life time.Duration

	mu   sync.Mutex
	kept map[K]kept[V]
}

type kept[V any] struct {
	value V
	read  time.Time
}

// get returns what is kept under a key and was read after a time, or else reads it and keeps it. An
// error is not kept.
func (c *cache[K, V]) get(now, after time.Time, key K, read func() (V, error)) (V, error) {
	if v, ok := c.peek(now, after, key); ok {
		return v, nil
	}
	v, err := read()
	if err == nil {
		c.put(now, key, v)
	}
	return v, err
}

func (c *cache[K, V]) peek(now, after time.Time, key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kept[key]
	if !ok || !k.read.After(after) || c.life > 0 && now.Sub(k.read) >= c.life {
		return value, false
	}
	return k.value, true
}

func (c *cache[K, V]) put(now time.Time, key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostKept {
		c.kept = map[K]kept[V]{}
	}
	c.kept[key] = kept[V]{value, now}
}
