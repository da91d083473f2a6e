package display

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffOfArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing":              {`{"a":1,"b":"x"}`, `{ "b": "x", "a": 1 }`, nil},
		"a value":              {`{"order":"A-17","amount":120}`, `{"order":"A-17","amount":80}`, []string{"- amount: 120", "+ amount: 80"}},
		"more and less":        {`{"a":1}`, `{"b":2}`, []string{"- a: 1", "+ b: 2"}},
		"written otherwise":    {`{"q":"a \u0026 \u003cb>"}`, `{"q":"a & <b\u003e"}`, nil},
		"deep inside":          {`{"to":{"name":"x","zip":1}}`, `{"to":{"name":"y","zip":1}}`, []string{`- to.name: "x"`, `+ to.name: "y"`}},
		"in a list":            {`{"a":[1,2]}`, `{"a":[1,3]}`, []string{"- a: [1,2]", "+ a: [1,3]"}},
		"another type":         {`{"a":1}`, `{"a":"1"}`, []string{"- a: 1", `+ a: "1"`}},
		"a large number":       {`{"a":12345678901234567890}`, `{"a":12345678901234567891}`, []string{"- a: 12345678901234567890", "+ a: 12345678901234567891"}},
		"blanks in text":       {`{"a":"x y"}`, `{"a":"x  y"}`, []string{`- a: "x y"`, `+ a: "x  y"`}},
		"what does not show":   {`{"a":"x"}`, "{\"a\":\"x\u200b\"}", []string{`- a: "x"`, `+ a: "x\u200b"`}},
		"a name with a dot":    {`{"a b":1}`, `{"a b":2}`, []string{`- "a b": 1`, `+ "a b": 2`}},
		"no object":            {`[1]`, `{"a":1}`, []string{"- [1]", `+ {"a":1}`}},
		"a name that is twice": {`{"a":1}`, `{"a":1,"a":2}`, []string{`- {"a":1}`, `+ {"a":1,"a":2}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range Diff(json.RawMessage(tt.before), json.RawMessage(tt.after)) {
				got = append(got, l.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestArgumentsInWords(t *testing.T) {
	for raw, want := range map[string]string{
		`{"order":"A-17","amount":120}`:   "order=A-17 amount=120",
		`{"text":"two words","yes":true}`: `text="two words" yes=true`,
		`{"n":"5","t":"true","e":""}`:     `n="5" t="true" e=""`,
		`{"a b":{"c":[1, 2]}}`:            `"a b"={"c":[1,2]}`,
		"{\"a\":\"\u202e\"}":              `a="\u202e"`,
		`{}`:                              "",
		`[1, 2]`:                          "[1,2]",
		`nonsense`:                        "nonsense",
		`{"a":1,"a":2}`:                   `{"a":1,"a":2}`,
	} {
		if got := InWords(json.RawMessage(raw)); got != want {
			t.Errorf("%s in words is %q, want %q", raw, got, want)
		}
	}
}
