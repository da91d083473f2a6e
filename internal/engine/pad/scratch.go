package pad

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Scratch is what one call remembers from one run of its body to the next, while it waits. It is
// committed with the wait, and gone when the call settles. Safe for concurrent use. The nil Scratch
// is empty and keeps nothing.
type Scratch struct {
	mu      sync.Mutex
	value   json.RawMessage
	changed bool
}

// NewScratch begins with what an earlier run of the body kept; nil if there is nothing.
func NewScratch(kept json.RawMessage) *Scratch {
	if core.IsNull(kept) {
		kept = nil
	}
	return &Scratch{value: kept}
}

// Get is what is kept, as JSON; nil if nothing is.
func (s *Scratch) Get() json.RawMessage {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// Set replaces what is kept; nil keeps nothing. An error says that value has no JSON form or is
// larger than [core.MaxScratch], and changes nothing.
func (s *Scratch) Set(value any) error {
	raw, err := core.EncodeAny(value)
	switch {
	case err != nil:
		return err
	case len(raw) > core.MaxScratch:
		return fmt.Errorf("the scratch would have %d bytes; the limit is %d", len(raw), core.MaxScratch)
	case s == nil:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.changed = raw, true
	if core.IsNull(raw) {
		s.value = nil
	}
	return nil
}

// Outcome is what is to be kept as an outcome says it: nil if nothing changed, null if nothing is
// kept any more.
func (s *Scratch) Outcome() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.changed:
		return nil
	case s.value == nil:
		return json.RawMessage("null")
	}
	return s.value
}
