package longpoll

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// Shared lets readers that wait for the same thing wait for one read of it: a hundred open pages of
// a tenant read its feed from the same place, and cost one reader.
//
//	page 1 ── Do ──┐            ┌── the same events, and the same next place
//	page 2 ── Do ──┼── read ────┼──
//	page 3 ── Do ──┘            └──
//
// The key has all that the read depends on, so that it doesn't matter when a reader joins. The zero
// value is ready.
type Shared[K comparable, V any] struct {
	// Worth says of a value whether readers that come a little later get it too, until Later
	// calls what it is given; so those that were slower to send it stay together with the
	// others. Nil: no value is kept.
	Worth func(V) bool
	Later func(func())

	mu    sync.Mutex
	reads map[K]*sharedRead[V]
}

// sharedRead is a read that some wait for. The lock of its Shared guards waiting; over is closed
// once value and err are there.
type sharedRead[V any] struct {
	waiting int
	stop    context.CancelFunc
	over    chan struct{}
	value   V
	err     error
}

// Do returns what read returns, to all who came with the key while it lasted, or soon after: they
// must not change it. Its context ends once all of them have left. A reader whose ctx ends leaves
// with its error.
func (s *Shared[K, V]) Do(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	r := s.join(ctx, key, read)
	select {
	case <-r.over:
		return r.value, r.err
	case <-ctx.Done():
		s.leave(key, r)
		var none V
		return none, ctx.Err()
	}
}

func (s *Shared[K, V]) join(ctx context.Context, key K, read func(context.Context) (V, error)) *sharedRead[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.reads[key]; r != nil {
		r.waiting++
		return r
	}
	shared, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &sharedRead[V]{waiting: 1, stop: stop, over: make(chan struct{})}
	if s.reads == nil {
		s.reads = map[K]*sharedRead[V]{}
	}
	s.reads[key] = r
	go func() {
		defer stop()
		defer close(r.over)
		defer s.done(key, r)
		defer func() { // as in a handler, a panic ends no server
			if p := recover(); p != nil {
				r.err = fmt.Errorf("a shared read panicked: %v\n%s", p, debug.Stack())
			}
		}()
		r.value, r.err = read(shared)
	}()
	return r
}

// leave stops a read that no one waits for any more. The next one with its key begins another.
func (s *Shared[K, V]) leave(key K, r *sharedRead[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.stop()
		s.remove(key, r)
	}
}

func (s *Shared[K, V]) done(key K, r *sharedRead[V]) {
	if r.err == nil && s.Worth != nil && s.Worth(r.value) {
		s.Later(func() { s.forget(key, r) })
		return
	}
	s.forget(key, r)
}

func (s *Shared[K, V]) forget(key K, r *sharedRead[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key, r)
}

func (s *Shared[K, V]) remove(key K, r *sharedRead[V]) {
	if s.reads[key] == r {
		delete(s.reads, key)
	}
}
