package local

import (
	"context"
	"slices"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

var _ engine.Slots = (*slots)(nil)

// newcomers is the line of the workers that want a slot to receive another message. No tenant has
// this name.
const newcomers = ""

// slots bound how many steps compute at once. Steps wait for a slot in one line for each tenant,
// and the lines take turns: a thousand calls of one tenant that end together do not delay a step of
// another one by more than a few slots.
type slots struct {
	mu    sync.Mutex
	free  int
	lines map[string][]chan struct{}
	order []string // of the lines: the next one to be served is first
}

func newSlots(n int) *slots { return &slots{free: n, lines: map[string][]chan struct{}{}} }

// Take implements [engine.Slots].
func (s *slots) Take(tenant string) { s.enter(context.Background(), tenant) }

// enter waits for a slot; false if ctx ended first.
func (s *slots) enter(ctx context.Context, line string) bool {
	granted := s.ask(line)
	select {
	case <-granted:
		return true
	case <-ctx.Done():
	}
	if !s.withdraw(line, granted) { // it was granted at the same moment
		s.GiveUp(line)
	}
	return false
}

// ask returns a channel that is closed when the slot is granted.
func (s *slots) ask(line string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := make(chan struct{})
	if s.free > 0 {
		s.free--
		close(granted)
		return granted
	}
	if len(s.lines[line]) == 0 {
		s.order = append(s.order, line)
	}
	s.lines[line] = append(s.lines[line], granted)
	return granted
}

// withdraw leaves the line; false if the slot was granted already.
func (s *slots) withdraw(line string, waiter chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.lines[line], waiter)
	if at < 0 {
		return false
	}
	s.lines[line] = slices.Delete(s.lines[line], at, at+1)
	if len(s.lines[line]) == 0 {
		s.end(line)
	}
	return true
}

func (s *slots) end(line string) {
	delete(s.lines, line)
	s.order = slices.DeleteFunc(s.order, func(other string) bool { return other == line })
}

// GiveUp implements [engine.Slots]. The slot goes to the line whose turn it is.
func (s *slots) GiveUp(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		s.free++
		return
	}
	line := s.order[0]
	waiting := s.lines[line]
	close(waiting[0])
	s.order, s.lines[line] = s.order[1:], waiting[1:]
	if len(waiting) == 1 {
		delete(s.lines, line)
		return
	}
	s.order = append(s.order, line)
}
