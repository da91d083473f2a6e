package rehearsal

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// closed visits the members of each mapping that takes no others.
func closed(v any, visit func([]string)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			closed(item, visit)
		}
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok && v["additionalProperties"] == false {
			var names []string
			for name := range properties {
				names = append(names, name)
			}
			visit(names)
		}
		for _, item := range v {
			closed(item, visit)
		}
	}
}

func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ",")
}

func value(t *testing.T, text string) *Value {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	v, err := newValue(doc.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAValueFitsWhatItSays(t *testing.T) {
	for _, tt := range []struct {
		want, found string
		fits        bool
	}{
		{`done`, `"done"`, true},
		{`done`, `"Done"`, false},
		{`/on/`, `"done"`, true},
		{`/^on/`, `"done"`, false},
		{`/`, `"/"`, true},
		{`//`, `"x"`, false},
		{`40`, `40.0`, true},
		{`40`, `"40"`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e2`, `100`, true},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`null`, `null`, true},
		{`null`, `""`, false},
		{`{a: 1, b: [/x/, 2]}`, `{"b":["axe",2],"a":1}`, true},
		{`{a: 1}`, `{"a":1,"b":2}`, false},
		{`{a: 1, b: 2}`, `{"a":1}`, false},
		{`[1, 2]`, `[2,1]`, false},
		{`/"a":1/`, `{"a":1}`, true}, // another kind of value is its JSON
	} {
		if got := value(t, tt.want).Fits([]byte(tt.found)); got != tt.fits {
			t.Errorf("%s against %s: %v", tt.want, tt.found, got)
		}
	}
}

func TestATextMayHoldAValue(t *testing.T) {
	for _, tt := range []struct {
		want, found string
		fits        bool
	}{
		{`sent`, `sent`, true},
		{`{total: 40}`, `{"total":40}`, true},
		{`{total: 40}`, `total 40`, false},
		{`40`, `40`, true},
		{`"40"`, `40`, true},
		{`/"total":4/`, `{"total":40}`, true},
	} {
		if got := value(t, tt.want).FitsText(tt.found); got != tt.fits {
			t.Errorf("%s against %s: %v", tt.want, tt.found, got)
		}
	}
}
