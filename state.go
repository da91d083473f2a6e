package dormouse

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// State is the shared data of a run's tools and hooks. Each of them sees the values from when it
// was called and its own writes. Its writes are committed together with its result: all of them, or
// none. State is meant for small values; all of it, as JSON, is limited to 64 KiB.
//
// Two functions that run concurrently may both Add to a key, or both Insert into it. If both Set or
// Delete it, the run ends with the error state_conflict.
type State struct {
	Run    Keys // lasts until the run ends
	Thread Keys // lasts as long as the thread; later runs see it
}

// Keys maps keys to JSON values. It is safe for concurrent use.
type Keys interface {
	// Get returns the JSON value of a key, or nil if it has none. Decode it with [Value].
	Get(key string) json.RawMessage

	// Set writes a value. It conflicts with every concurrent write of the key by another tool
	// or hook. It returns an error if value can't be encoded as JSON.
	Set(key string, value any) error

	// Delete removes a key. Like Set, it conflicts with every concurrent write of the key.
	Delete(key string)

	// Add adds n to a number; a key without a value counts as 0. Concurrent Adds don't
	// conflict.
	Add(key string, n int64)

	// Insert adds a text to a set, stored as a sorted JSON array. Concurrent Inserts don't
	// conflict.
	Insert(key, text string)
}

// A key of [State].Run that requests write.
const (
	// ClientState has the state that the request which started the run supplied. What it holds
	// is a client's claim: don't decide by it what a run may do.
	ClientState = "dormouse.client"
)

// View is a read-only snapshot of a [State]. Keys without a value are absent from its maps.
type View struct {
	Run, Thread map[string]json.RawMessage
}

// Value decodes a value of a state. For a nil value, which is what a key without one has, it
// returns the zero value of T. It returns an error if the value can't be decoded as a T.
func Value[T any](raw json.RawMessage) (T, error) {
	var v T
	if raw == nil {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("dormouse: the state value %.40s can't be read as %T; read it as the type that was written", raw, v)
	}
	return v, nil
}

// NewState returns an empty state, for tests of tools and hooks. Writes to it can be read back.
func NewState() State {
	pad := pad.New(core.State{})
	return State{Run: tool.Keys{Pad: pad, Scope: core.RunScope}, Thread: tool.Keys{Pad: pad, Scope: core.ThreadScope}}
}
