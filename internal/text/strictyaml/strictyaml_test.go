package strictyaml_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// problems reads a file of one text, one flag, one list and one of two words, and says what is
// wrong with it.
func problems(text string) []string {
	r := &strictyaml.Reader{File: "x.yaml"}
	if root := r.Document([]byte(text)); root != nil {
		if o, ok := r.Object(root, "a thing"); ok {
			o.Text("name")
			o.Flag("big")
			o.List("parts")
			o.One("kind", "warm", "cold")
			o.Close()
		}
	}
	var all []string
	for _, p := range r.Problems {
		all = append(all, fmt.Sprintf("%d: %s", p.Line, p.Text))
	}
	return all
}

func TestWhatIsNotUnderstoodIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string][]string{
		"name: a\nbig: true\nparts: [1]\nkind: warm\n": nil,
		"{}":                               nil,
		"":                                 {"1: the file is empty; add content or remove it"},
		"a: [":                             {"1: this is not YAML: did not find expected node content"},
		"name: *x":                         {"1: this is not YAML: unknown anchor 'x' referenced"},
		"- a":                              {"1: a thing is a list; write it as a mapping of fields"},
		"name: a\n---\nname: b":            {"2: a second document begins here; use a separate file for each"},
		"name: a\nname: b":                 {`2: "name" is given twice, first near line 1; keep one`},
		"big: yes please\nname: 3":         {"2: name must be text, not a number; put it in quotes", "1: big must be true or false, not text"},
		"parts: a\nkind: hot":              {"1: parts must be a list, not text", `2: kind cannot be "hot"; it is one of warm, cold`},
		"kind: ''":                         {`1: kind cannot be ""; it is one of warm, cold`},
		"\n\nsize: 3\n[a]: b":              {`3: unknown field "size" in a thing; it takes name, big, parts, kind`, `4: unknown field "" in a thing; it takes name, big, parts, kind`},
		"x: &x a\nname: *x\nkind: !!int 3": {"2: name must be text, not an alias (aliases are not supported; write the value itself); put it in quotes", "3: kind must be text, not a number; put it in quotes", `1: unknown field "x" in a thing; it takes name, big, parts, kind`},
	} {
		if diff := cmp.Diff(want, problems(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
