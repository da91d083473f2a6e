package txfile

import "sync"

// watchers are the channels that wait for a notice of a topic. The zero value has none.
type watchers struct {
	mu sync.Mutex
	of map[any]map[chan struct{}]bool
}

// Watch returns a channel that is signalled when a transaction of this process has notified of the
// topic, a comparable value, since the last receive. It is signalled after the commit, before the
// callers are answered. Other processes do not signal it. Call stop when done.
func Watch(f *File, topic any) (notified <-chan struct{}, stop func()) {
	signal, w := make(chan struct{}, 1), &f.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[any]map[chan struct{}]bool{}
	}
	if w.of[topic] == nil {
		w.of[topic] = map[chan struct{}]bool{}
	}
	w.of[topic][signal] = true
	return signal, func() { w.leave(topic, signal) }
}

func (w *watchers) leave(topic any, signal chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of[topic], signal)
	if len(w.of[topic]) == 0 {
		delete(w.of, topic)
	}
}

func (w *watchers) tell(topics map[any]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for topic := range topics {
		for signal := range w.of[topic] {
			select {
			case signal <- struct{}{}:
			default:
			}
		}
	}
}
