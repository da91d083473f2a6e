package core

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

func op(kind StateOpKind, key, value string) StateOp {
	return StateOp{Key: key, Op: kind, Value: json.RawMessage(value)}
}

func TestStateApply(t *testing.T) {
	for _, c := range []struct {
		name string
		ops  []StateOp
		want string
	}{
		{"nothing", nil, ``},
		{"a value, then another", []StateOp{op(StateSet, "k", `1`), op(StateSet, "k", `{"a":2}`)}, `{"a":2}`},
		{"a value that is taken away", []StateOp{op(StateSet, "k", `1`), op(StateDelete, "k", "")}, ``},
		{"numbers add up", []StateOp{op(StateAdd, "k", `2`), op(StateAdd, "k", `-5`)}, `-3`},
		{"a number is added to what is no number as to 0", []StateOp{op(StateSet, "k", `"text"`), op(StateAdd, "k", `2`)}, `2`},
		{"a set holds a text once, in order", []StateOp{op(StateInsert, "k", `"b"`), op(StateInsert, "k", `"a"`), op(StateInsert, "k", `"b"`)}, `["a","b"]`},
		{"a text is inserted into what is no set as into an empty one", []StateOp{op(StateSet, "k", `7`), op(StateInsert, "k", `"a"`)}, `["a"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := State{Run: map[string]json.RawMessage{"other": json.RawMessage("1")}}
			after := before.Apply(c.ops)
			if got := string(after.Get(RunScope, "k")); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if before.Get(RunScope, "k") != nil || string(after.Get(RunScope, "other")) != "1" || after.Get(ThreadScope, "k") != nil {
				t.Errorf("before %v, after %v", before, after)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	thread := op(StateSet, "k", `2`)
	thread.Scope = ThreadScope
	for _, c := range []struct {
		name     string
		writers  [][]StateOp
		conflict bool
	}{
		{"C63 writes of different keys", [][]StateOp{{op(StateSet, "a", `1`)}, {op(StateSet, "b", `2`)}}, false},
		{"C63 one key in two scopes", [][]StateOp{{op(StateSet, "k", `1`)}, {thread}}, false},
		{"one writer may do as it likes", [][]StateOp{{op(StateSet, "k", `1`), op(StateAdd, "k", `1`), op(StateDelete, "k", "")}}, false},
		{"both add", [][]StateOp{{op(StateAdd, "k", `1`)}, {op(StateAdd, "k", `1`)}}, false},
		{"both insert", [][]StateOp{{op(StateInsert, "k", `"a"`)}, {op(StateInsert, "k", `"a"`)}}, false},
		{"C64 both set, even the same value", [][]StateOp{{op(StateSet, "k", `1`)}, {op(StateSet, "k", `1`)}}, true},
		{"C64 one sets, one deletes", [][]StateOp{{op(StateSet, "k", `1`)}, {op(StateDelete, "k", "")}}, true},
		{"C64 one adds, one inserts", [][]StateOp{{op(StateAdd, "k", `1`)}, {op(StateInsert, "k", `"a"`)}}, true},
		{"C64 one adds, one sets", [][]StateOp{{op(StateAdd, "k", `1`)}, {op(StateSet, "k", `1`)}}, true},
		{"C64 one sets and adds, one adds", [][]StateOp{{op(StateSet, "k", `1`), op(StateAdd, "k", `1`)}, {op(StateAdd, "k", `1`)}}, true},
		{"C64 one adds and sets, one adds", [][]StateOp{{op(StateAdd, "k", `1`), op(StateSet, "k", `1`)}, {op(StateAdd, "k", `1`)}}, true},
		{"C64 one adds, one adds and sets", [][]StateOp{{op(StateAdd, "k", `1`)}, {op(StateAdd, "k", `1`), op(StateSet, "k", `1`)}}, true},
		{"C64 one adds and inserts, one inserts", [][]StateOp{{op(StateAdd, "k", `1`), op(StateInsert, "k", `"a"`)}, {op(StateInsert, "k", `"a"`)}}, true},
		{"C64 two inserted, a third sets", [][]StateOp{{op(StateInsert, "k", `"a"`)}, {op(StateInsert, "k", `"b"`)}, {op(StateSet, "k", `1`)}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ops, err := Merge(c.writers...)
			switch {
			case c.conflict && (err == nil || !strings.Contains(err.Error(), "conflict") || !strings.Contains(err.Error(), `"k"`) || ops != nil):
				t.Errorf("got %v, error %v; want a conflict that names the key", ops, err)
			case !c.conflict && err != nil:
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestMergedWritesDoNotDependOnTheOrderOfWriters: whatever Merge lets pass comes to one state,
// whoever was first.
func TestMergedWritesDoNotDependOnTheOrderOfWriters(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, seed))
	values := map[StateOpKind][]string{StateSet: {`1`, `"a"`}, StateDelete: {``}, StateAdd: {`1`, `2`}, StateInsert: {`"a"`, `"b"`}}
	base := State{Run: map[string]json.RawMessage{"x": json.RawMessage(`5`), "y": json.RawMessage(`["a"]`)}}
	passed := 0
	for range 20_000 {
		writers := make([][]StateOp, 2)
		for i := range writers {
			for range 1 + rng.IntN(3) {
				kind := StateOpKind(rng.IntN(4))
				writers[i] = append(writers[i], op(kind, string("xyz"[rng.IntN(3)]), values[kind][rng.IntN(len(values[kind]))]))
			}
		}
		one, err := Merge(writers[0], writers[1])
		other, otherErr := Merge(writers[1], writers[0])
		if (err == nil) != (otherErr == nil) {
			t.Fatalf("seed %d: %v conflict in one order only (%v, %v)", seed, writers, err, otherErr)
		}
		if err != nil {
			continue
		}
		passed++
		if a, b := string(Encode(base.Apply(one))), string(Encode(base.Apply(other))); a != b {
			t.Fatalf("seed %d: %v come to %s or %s", seed, writers, a, b)
		}
	}
	if passed < 1000 {
		t.Errorf("only %d pairs passed", passed)
	}
}

func TestReadState(t *testing.T) {
	event := func(run string, kind EventType, data any) Event {
		return Event{RunID: run, Type: kind, Data: Encode(data)}
	}
	snap := func(run string, s State) Event { return event(run, EventStateSnapshot, s) }
	delta := func(run string, ops ...StateOp) Event { return event(run, EventStateDelta, StateDelta{ops}) }
	values := func(k string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"k": json.RawMessage(k)}
	}
	for _, c := range []struct {
		name        string
		head        Head
		segments    []Segment
		run, thread string
	}{
		{"nothing was written", Head{Identity: Identity{Run: "r"}}, nil, "", ""},
		{"the snapshot alone", Head{Identity: Identity{Run: "r"}, StateLog: StateLog{Snapshot: 2}}, []Segment{{Seq: 2, Events: []Event{snap("r", State{Run: values("1"), Thread: values("2")})}}}, "1", "2"},
		{"writes that the snapshot contains do not count again", Head{Identity: Identity{Run: "r"}, StateLog: StateLog{Snapshot: 2}},
			[]Segment{{Seq: 1, Events: []Event{delta("r", op(StateAdd, "k", "1"))}}, {Seq: 2, Events: []Event{snap("r", State{Run: values("1")})}}}, "1", ""},
		{"writes since the snapshot", Head{Identity: Identity{Run: "r"}, StateLog: StateLog{Snapshot: 2, FirstDelta: 3}},
			[]Segment{{Seq: 2, Events: []Event{snap("r", State{Run: values("1")})}}, {Seq: 3, Events: []Event{delta("r", op(StateAdd, "k", "1"))}},
				{Seq: 4, Events: []Event{delta("r", op(StateAdd, "k", "1"))}}}, "3", ""},
		{"a write, the snapshot and another write in one segment", Head{Identity: Identity{Run: "r"}, StateLog: StateLog{Snapshot: 2, FirstDelta: 2}},
			[]Segment{{Seq: 2, Events: []Event{delta("r", op(StateAdd, "k", "1")), snap("r", State{Run: values("1")}), delta("r", op(StateAdd, "k", "5"))}}}, "6", ""},
		{"of an earlier run only the scope of the thread is left", Head{Identity: Identity{Run: "r2"}, StateLog: StateLog{Snapshot: 2}},
			[]Segment{{Seq: 2, Events: []Event{snap("r1", State{Run: values("1"), Thread: values("2")})}}}, "", "2"},
		{"the first writes of a run that follows another", Head{Identity: Identity{Run: "r2"}, StateLog: StateLog{Snapshot: 2, FirstDelta: 4}},
			[]Segment{{Seq: 2, Events: []Event{snap("r1", State{Run: values("1"), Thread: values("2")})}}, {Seq: 4, Events: []Event{delta("r2", op(StateAdd, "k", "1"))}}}, "1", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := ReadState(c.head, c.segments)
			if run, thread := string(s.Get(RunScope, "k")), string(s.Get(ThreadScope, "k")); run != c.run || thread != c.thread {
				t.Errorf("run %q, thread %q; want %q, %q", run, thread, c.run, c.thread)
			}
		})
	}
}
