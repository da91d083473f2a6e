package dormouse

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// State is what the tools and hooks of a run share, as one of them sees it: what was there when it
// began, and what it wrote itself. Its writes are committed with what it returns, all of them or
// none. It is for small things: the whole of it, as JSON, has at most 64 KiB.
//
// Two that run side by side may both add to a key, or both insert into it. If both set it, the run
// ends with the error state_conflict.
type State struct {
	Run    Keys // lives until the run is done
	Thread Keys // lives as long as the thread: later runs see it
}

// Keys are JSON values by key. Safe for concurrent use.
type Keys interface {
	// Get returns the JSON value of a key, nil if it has none. [Value] reads it.
	Get(key string) json.RawMessage

	// Set writes a value; nobody else may write the key at the same time. The error says that
	// value has no JSON form.
	Set(key string, value any) error

	// Delete removes a key; nobody else may write it at the same time.
	Delete(key string)

	// Add adds n to a number, 0 if there is none; others may add to it at the same time.
	Add(key string, n int64)

	// Insert adds a text to a set of texts, which is a sorted JSON array; others may do so at
	// the same time.
	Insert(key, text string)
}

// View is a state that is only looked at. A key without a value has none in its map.
type View struct {
	Run, Thread map[string]json.RawMessage
}

// Value reads a value of a state. Of a key without one it is the zero value of T. The error says
// that the value is no T.
func Value[T any](raw json.RawMessage) (T, error) {
	var v T
	if raw == nil {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("dormouse: the value %.40s in the state is no %T; read it as what was written", raw, v)
	}
	return v, nil
}

// NewState returns a state with nothing in it, for tests of tools and hooks. What is written to it
// can be read from it.
func NewState() State {
	pad := engine.NewPad(core.State{})
	return State{Run: tool.Keys{Pad: pad, Scope: core.RunScope}, Thread: tool.Keys{Pad: pad, Scope: core.ThreadScope}}
}
