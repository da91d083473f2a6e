package runinput

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

func tools(n int, t wire.ClientTool) (out []wire.ClientTool) {
	for i := range n {
		t.Name = fmt.Sprintf("tool_%d", i)
		out = append(out, t)
	}
	return out
}

func items(n int, value string) (out []wire.ContextItem) {
	for range n {
		out = append(out, wire.ContextItem{Value: json.RawMessage(value)})
	}
	return out
}

func TestWhatAStartSuppliesIsBounded(t *testing.T) {
	text := func(n int) json.RawMessage { return core.Encode(strings.Repeat("a", n)) }
	deep := json.RawMessage(strings.Repeat("[", depth.Max+1) + strings.Repeat("]", depth.Max+1))
	for name, req := range map[string]wire.Supplied{
		"10,000 tools":               {ClientTools: tools(10_000, wire.ClientTool{})},
		"one tool too many":          {ClientTools: tools(supplied.MostTools+1, wire.ClientTool{})},
		"a tool without a name":      {ClientTools: []wire.ClientTool{{}}},
		"a long description":         {ClientTools: tools(1, wire.ClientTool{Description: strings.Repeat("a", supplied.DescriptionBytes+1)})},
		"long descriptions together": {ClientTools: tools(supplied.MostTools, wire.ClientTool{Description: strings.Repeat("a", supplied.DescriptionBytes)})},
		"a large schema":             {ClientTools: tools(1, wire.ClientTool{Parameters: core.Encode(map[string]any{"description": strings.Repeat("a", supplied.ToolsBytes)})})},
		"a schema in blanks":         {ClientTools: tools(1, wire.ClientTool{Parameters: json.RawMessage("{" + strings.Repeat(" ", 1<<20) + "}")})},
		"a deep schema":              {ClientTools: tools(1, wire.ClientTool{Parameters: deep})},
		"a schema that is no JSON":   {ClientTools: tools(1, wire.ClientTool{Parameters: json.RawMessage(`{"type":`)})},
		"too much context":           {Context: items(supplied.MostContext+1, `1`)},
		"context without a value":    {Context: []wire.ContextItem{{Description: "page"}}},
		"large context":              {Context: items(2, string(text(supplied.ContextBytes/2)))},
		"deep context":               {Context: items(1, string(deep))},
		"context that is no JSON":    {Context: items(1, `"a`)},
		"a large state":              {State: text(supplied.StateBytes)},
		"a state in blanks":          {State: json.RawMessage("{" + strings.Repeat(" ", 1<<20) + "}")},
		"a deep state":               {State: deep},
		"a state that is no JSON":    {State: json.RawMessage(`{1:2}`)},
	} {
		if in, err := Supplied(req); err == nil || !in.Empty() {
			t.Errorf("%s: %v", name, err)
		} else if len(err.Error()) > 200 {
			t.Errorf("%s: the refusal has %d bytes", name, len(err.Error()))
		}
	}
}

// Two requests that say the same in other spellings store the same.
func TestWhatAStartSuppliesHasOneForm(t *testing.T) {
	a, errA := Supplied(wire.Supplied{ClientTools: []wire.ClientTool{{Name: "a", Parameters: json.RawMessage(`{ "type": "object", "properties": {} }`)}},
		Context: items(1, ` {"b":1, "a":"\u0041"} `), State: json.RawMessage(`{"n": 1.50}`)})
	b, errB := Supplied(wire.Supplied{ClientTools: []wire.ClientTool{{Name: "a", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)}},
		Context: items(1, `{"a":"A","b":1}`), State: json.RawMessage(`{"n":1.50}`)})
	first, errC := a.Encode()
	second, errD := b.Encode()
	if string(first) != string(second) || errA != nil || errB != nil || errC != nil || errD != nil {
		t.Errorf("%s and %s", first, second)
	}
	for name, req := range map[string]wire.Supplied{
		"nothing": {}, "empty lists": {ClientTools: []wire.ClientTool{}, Context: []wire.ContextItem{}}, "null": {State: json.RawMessage("null")},
	} {
		if in, err := Supplied(req); err != nil || !in.Empty() {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
	full := wire.Supplied{ClientTools: tools(supplied.MostTools, wire.ClientTool{Description: "d", Parameters: json.RawMessage("null")}), Context: items(supplied.MostContext, `null`), State: json.RawMessage(`{}`)}
	if in, err := Supplied(full); err != nil || len(in.Tools) != supplied.MostTools || len(in.Context) != supplied.MostContext || in.Tools[0].Parameters != nil {
		t.Errorf("as much as there may be: %v", err)
	}
}
