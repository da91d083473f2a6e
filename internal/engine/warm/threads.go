// Package warm keeps what a process has read of the journals of its threads, so that the next step
// reads only what is new. The journal stays the only source: what is kept counts only if the chain
// of stamps leads from it to the head, and without it everything is read again.
package warm

import (
	"container/list"
	"sync"
)

// Key names a thread.
type Key struct{ Tenant, Thread string }

// Threads keeps the threads that were worked on last, within a bound of bytes. Safe for concurrent
// use.
type Threads struct {
	most int

	mu     sync.Mutex
	found  map[Key]*list.Element // of *kept
	recent *list.List            // the latest first
	size   int
}

type kept struct {
	key    Key
	thread *Thread
	size   int
}

// NewThreads keeps about so many bytes at most.
func NewThreads(most int) *Threads {
	return &Threads{most: most, found: map[Key]*list.Element{}, recent: list.New()}
}

// Take hands out what is known of a thread, and an empty one if nothing is. The caller alone has
// it: a second worker of the same thread, who will be refused sooner or later, begins with an empty
// one.
func (t *Threads) Take(key Key) *Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.found[key]
	if !ok {
		return &Thread{}
	}
	t.remove(at)
	return at.Value.(*kept).thread
}

// Keep takes a thread back. The caller must not use it any more.
func (t *Threads) Keep(key Key, thread *Thread) {
	size := thread.size()
	if size > t.most {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, ok := t.found[key]; ok {
		t.remove(old)
	}
	t.found[key] = t.recent.PushFront(&kept{key, thread, size})
	t.size += size
	for t.size > t.most {
		t.remove(t.recent.Back())
	}
}

func (t *Threads) remove(at *list.Element) {
	k := t.recent.Remove(at).(*kept)
	delete(t.found, k.key)
	t.size -= k.size
}
