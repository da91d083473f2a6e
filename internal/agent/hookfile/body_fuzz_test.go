package hookfile_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
)

// FuzzBodiesMapOrAreRefused: no body makes the mapping panic, or write JSON that isn't.
func FuzzBodiesMapOrAreRefused(f *testing.F) {
	for _, seed := range []string{`{"a":"b","o":{"x":[1,null,true]},"who":"anna"}`, `a=b&who=anna`, `payload=%7B%22a%22%3A1%7D`, `{`, `=`, `{"a":1e999}`, "{\"a\":\"\u2028\x00\"}", `{"a":{"a":{}}}`} {
		f.Add([]byte(seed))
	}
	h, err := hookfile.Parse("h.yaml", []byte("verify: {scheme: stripe, secret: S}\nby: who\nwhen: 'a != \"\"'\nstart: {agent: a, input: '{a} {o}', metadata: {a: '{a}', o: '{o}'}, thread_key: 'k-{o.x.0}'}\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		body, err := hookfile.ReadBody(raw)
		if err != nil {
			return
		}
		body.Unmet(h.When)
		act, err := h.Map(hookfile.Delivery{Name: "n", Header: func(string) string { return "" }, Body: body})
		if err != nil {
			return
		}
		if !json.Valid(act.Start.Input) || !json.Valid(act.Start.Metadata) || len(act.ID) > 128 || len(act.By) > 128 {
			t.Errorf("%+v", act)
		}
	})
}
