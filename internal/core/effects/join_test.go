package effects

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func TestJoin(t *testing.T) {
	end := &core.Reason{Kind: core.BehaviorRequested, Detail: "first"}
	set := func(key, value string) []core.StateOp {
		return []core.StateOp{{Key: key, Op: core.StateSet, Value: json.RawMessage(value)}}
	}
	for _, c := range []struct {
		name   string
		wishes []core.Effects
		want   core.Effects
	}{
		{"nothing", []core.Effects{{}, {}}, core.Effects{}},
		{"C61 both writes are there", []core.Effects{{State: set("a", "1")}, {State: set("b", "2")}}, core.Effects{State: append(set("a", "1"), set("b", "2")...)}},
		{"the first that ends counts", []core.Effects{{}, {End: end}, {End: &core.Reason{Kind: core.Stopped}}}, core.Effects{End: end}},
		{"the first that refuses counts", []core.Effects{{Refuse: "a"}, {Refuse: "b"}}, core.Effects{Refuse: "a"}},
		{"what is appended stands line by line", []core.Effects{{Append: "a"}, {}, {Append: "b"}}, core.Effects{Append: "a\nb"}},
		{"C69 offered is what every hook offers", []core.Effects{{Include: []string{"a", "b"}}, {Include: []string{"b", "c"}}, {Exclude: []string{"c"}}},
			core.Effects{Include: []string{"b"}, Exclude: []string{"c"}}},
		{"C69 nothing in common is no tool", []core.Effects{{Include: []string{"a"}}, {Include: []string{"b"}}}, core.Effects{Include: []string{""}}},
		{"of two overrides the later, member by member", []core.Effects{{Override: &core.Override{Instructions: "a", Parameters: map[string]any{"x": 1, "y": 1}}},
			{Override: &core.Override{Parameters: map[string]any{"y": 2}}}},
			core.Effects{Override: &core.Override{Instructions: "a", Parameters: map[string]any{"x": 1, "y": 2}}}},
		{"failures are all told", []core.Effects{{Notes: []string{"a"}}, {Notes: []string{"b"}}}, core.Effects{Notes: []string{"a", "b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Join(c.wishes); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("two hooks that write one exclusive key: nothing of the phase counts but what failed", func(t *testing.T) {
		got := Join([]core.Effects{{State: set("k", "1"), Append: "x", Notes: []string{"n"}}, {State: set("k", "2"), End: end}})
		if got.Conflict == "" || got.State != nil || got.End != nil || got.Append != "" || !slices.Equal(got.Notes, []string{"n"}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the wishes stay as they are", func(t *testing.T) {
		a := core.Effects{Include: append(make([]string, 0, 8), "a", "b"), Override: &core.Override{Parameters: map[string]any{"x": 1}}}
		Join([]core.Effects{a, {Include: []string{"b"}, Override: &core.Override{Parameters: map[string]any{"x": 2}}}})
		if !slices.Equal(a.Include, []string{"a", "b"}) || a.Override.Parameters["x"] != 1 {
			t.Errorf("became %+v", a)
		}
	})
}
