package sqlite

import "sync"

// place is a thread of a tenant.
type place struct{ tenant, thread string }

// news is what a transaction changed that others in this process may be waiting for.
type news struct {
	arrived bool    // something was put into the queue
	changed []place // heads that were written
}

func (n news) with(more news) news {
	return news{n.arrived || more.arrived, append(n.changed, more.changed...)}
}

// watchers are the channels that wait for a change of a thread. The zero value has none.
type watchers struct {
	mu sync.Mutex
	of map[place]map[chan struct{}]bool
}

// Watch returns a channel that is signalled when this process has changed the thread's head since
// the last receive; the committed data can be read then. With an empty thread the channel signals
// new entries in the tenant's feed. Changes by other processes are not signalled. Call stop when
// done.
func (db *DB) Watch(tenant, thread string) (changed <-chan struct{}, stop func()) {
	p, signal := place{tenant, thread}, make(chan struct{}, 1)
	w := &db.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[place]map[chan struct{}]bool{}
	}
	if w.of[p] == nil {
		w.of[p] = map[chan struct{}]bool{}
	}
	w.of[p][signal] = true
	return signal, func() { w.leave(p, signal) }
}

func (w *watchers) leave(p place, signal chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of[p], signal)
	if len(w.of[p]) == 0 {
		delete(w.of, p)
	}
}

func (w *watchers) tell(changed []place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range changed {
		for signal := range w.of[p] {
			select {
			case signal <- struct{}{}:
			default:
			}
		}
	}
}
