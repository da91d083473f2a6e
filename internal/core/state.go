package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core/depth"
)

// Conflict reports two unordered writes of one exclusive key.
type Conflict string

func (c Conflict) Error() string { return "conflict: " + string(c) }

// Scope says how long a key lives.
type Scope uint8

const (
	RunScope    Scope = iota // until the run is done
	ThreadScope              // as long as the thread
)

var scopeNames = []string{"run", "thread"}

func (s Scope) String() string { return name(scopeNames, uint8(s)) }

func (s Scope) MarshalText() ([]byte, error) { return marshalName("scope", scopeNames, uint8(s)) }

func (s *Scope) UnmarshalText(b []byte) error { return unmarshalName("scope", scopeNames, b, s) }

// State is what the tools and hooks of a run share, by key. Values are JSON. It is for small
// things: the whole of it is journaled at the end of each step that changed it. A State is never
// changed in place.
type State struct {
	Run    map[string]json.RawMessage `json:"run,omitempty"`
	Thread map[string]json.RawMessage `json:"thread,omitempty"`
}

// MaxState is how large a state may be, in bytes of JSON.
const MaxState = 64 << 10

// Get returns a key's value, nil if it has none.
func (s State) Get(scope Scope, key string) json.RawMessage { return s.scope(scope)[key] }

func (s State) scope(scope Scope) map[string]json.RawMessage {
	if scope == ThreadScope {
		return s.Thread
	}
	return s.Run
}

// Clone returns a state that shares no map with s.
func (s State) Clone() State { return State{Run: maps.Clone(s.Run), Thread: maps.Clone(s.Thread)} }

// Empty says whether there is nothing in it.
func (s State) Empty() bool { return len(s.Run) == 0 && len(s.Thread) == 0 }

// StateOpKind says how a write meets another of the same key.
type StateOpKind uint8

const (
	StateSet    StateOpKind = iota // exclusive: one writer at a time
	StateDelete                    // exclusive
	StateAdd                       // commutative: adds a whole number
	StateInsert                    // commutative: adds a text to a set of texts
)

var stateOpNames = []string{"set", "delete", "add", "insert"}

func (k StateOpKind) String() string { return name(stateOpNames, uint8(k)) }

func (k StateOpKind) MarshalText() ([]byte, error) {
	return marshalName("state operation", stateOpNames, uint8(k))
}

func (k *StateOpKind) UnmarshalText(b []byte) error {
	return unmarshalName("state operation", stateOpNames, b, k)
}

// StateOp is one write. Value is what is set, added or inserted.
type StateOp struct {
	Scope Scope           `json:"scope,omitempty"`
	Key   string          `json:"key"`
	Op    StateOpKind     `json:"op"`
	Value json.RawMessage `json:"value,omitempty"`
}

// check says what is wrong with a write that came from outside.
func (op StateOp) check() error {
	var number int64
	var text string
	switch valid := json.Valid(op.Value); {
	case !utf8.ValidString(op.Key):
		return fmt.Errorf("the key %q of a write to the state is not UTF-8", op.Key)
	case op.Key == "" || int(op.Scope) >= len(scopeNames) || int(op.Op) >= len(stateOpNames):
		return fmt.Errorf("a write to the state needs a key, a scope and an operation")
	case op.Op == StateSet && !valid:
		return fmt.Errorf("the value for the key %q is not JSON", op.Key)
	case op.Op == StateSet && depth.Exceeded(op.Value):
		return fmt.Errorf("the value for the key %q is nested more than %d levels deep", op.Key, depth.Max)
	case op.Op == StateAdd && (!valid || json.Unmarshal(op.Value, &number) != nil):
		return fmt.Errorf("the amount added to the key %q is not a whole number", op.Key)
	case op.Op == StateInsert && (!valid || json.Unmarshal(op.Value, &text) != nil):
		return fmt.Errorf("the value inserted for the key %q is not text", op.Key)
	}
	return nil
}

// CheckOps refuses an operation that could not be applied.
func CheckOps(ops []StateOp) error {
	for _, op := range ops {
		if err := op.check(); err != nil {
			return err
		}
	}
	return nil
}

// Apply returns the state after the writes. A number is added to what is no number as to 0, a text
// inserted into what is no set as into an empty one.
func (s State) Apply(ops []StateOp) State {
	if len(ops) == 0 {
		return s
	}
	next := State{Run: CloneMap(s.Run), Thread: CloneMap(s.Thread)}
	for _, op := range ops {
		next.apply(op)
	}
	return next
}

func (s State) apply(op StateOp) {
	values := s.scope(op.Scope)
	switch op.Op {
	case StateDelete:
		delete(values, op.Key)
	case StateAdd:
		var sum, by int64
		_ = json.Unmarshal(values[op.Key], &sum)
		_ = json.Unmarshal(op.Value, &by)
		values[op.Key] = json.RawMessage(strconv.FormatInt(sum+by, 10))
	case StateInsert:
		var set []string
		var text string
		_ = json.Unmarshal(values[op.Key], &set)
		_ = json.Unmarshal(op.Value, &text)
		if at, there := slices.BinarySearch(set, text); !there {
			set = slices.Insert(set, at, text)
		}
		values[op.Key] = Encode(set)
	default:
		values[op.Key] = op.Value
	}
}

// Merge joins the writes of several who did not see one another. Two who touch one key conflict,
// unless both add or both insert; the error then names the key, and nothing may be applied.
func Merge(writers ...[]StateOp) ([]StateOp, error) {
	type place struct {
		scope Scope
		key   string
	}
	type touch struct {
		writer int
		kind   StateOpKind
	}
	first := map[place]touch{}
	var all []StateOp
	for i, ops := range writers {
		for _, op := range ops {
			at := place{op.Scope, op.Key}
			before, touched := first[at]
			switch {
			case !touched:
				first[at] = touch{i, op.Op}
			case before.writer != i && (op.Op != before.kind || op.Op == StateSet || op.Op == StateDelete):
				return nil, Conflict(fmt.Sprintf("two concurrent writers wrote the %s key %q", op.Scope, op.Key))
			case op.Op != before.kind:
				// their order matters, so no other writer may use the key
				first[at] = touch{i, StateSet}
			}
			all = append(all, op)
		}
	}
	return all, nil
}

// ReadState puts the state together from the journal: the snapshot that the head names, and the
// writes since. Keys of run scope that another run wrote do not count.
func ReadState(h Head, segments []Segment) State {
	s := State{Run: map[string]json.RawMessage{}, Thread: map[string]json.RawMessage{}}
	for _, seg := range segments {
		for _, e := range seg.Events {
			switch {
			case e.Type == EventStateSnapshot && seg.Seq >= h.Snapshot:
				var snap State
				if json.Unmarshal(e.Data, &snap) == nil {
					s = State{Run: CloneMap(snap.Run), Thread: CloneMap(snap.Thread)}
				}
			case e.Type == EventStateDelta && h.FirstDelta != 0 && seg.Seq >= h.FirstDelta:
				var delta StateDelta
				if json.Unmarshal(e.Data, &delta) == nil {
					s = s.Apply(delta.Ops)
				}
			default:
				continue
			}
			if e.RunID != h.Run {
				s.Run = map[string]json.RawMessage{}
			}
		}
	}
	return s
}

// StateDelta is the data of a state.delta event.
type StateDelta struct {
	Ops []StateOp `json:"ops"`
}
