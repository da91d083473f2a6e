package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// A body is taken if it is one object in UTF-8 in which no object has a member twice and every
// member of the outermost is known, and then it means what encoding/json says; anything else is
// refused as malformed or for the field.
func FuzzStrict(f *testing.F) {
	for _, seed := range []string{`{"target":"sus_1_a","result":[{"approved":false,"x":[],"approved":true}]}`, `{"Target":"x"}`, `{"target":1}`, `{"a":1,"\u0061":2}`,
		`{"action":"resume","arguments":{"a":{"a":{"a":1e999}}}}`, "{\"error\":\"\xff\"}", ` {} `, `{}{}`, `null`, `[{"a":1}]`,
		`{"result":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `{"\ud800":1,"\ud801":1}`, `{"target":null,"grant":"run","reason":"\u0000"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := bodies.CheckJSON(raw)
		var d wire.Decision
		var members map[string]json.RawMessage
		object := json.Unmarshal(raw, &members) == nil && members != nil
		if fine := utf8.Valid(raw) && object && !repeats(raw); fine != (err == nil) {
			t.Fatalf("%q: object %v, repeats %v, and the error is %v", raw, object, repeats(raw), err)
		}
		if err == nil {
			err = bodies.Decode(raw, &d)
		}
		if refused, ok := errors.AsType[*refusal.Error](err); err != nil && (!ok || len(refused.Detail) > 500) {
			t.Fatalf("%q is refused with %v", raw, err)
		} else if err != nil && refused.Code != problems.CodeMalformed && refused.Code != problems.CodeUnknownField {
			t.Fatalf("%q is refused as %s", raw, refused.Code)
		}
		var plain wire.Decision
		if err == nil && (json.Unmarshal(raw, &plain) != nil || !reflect.DeepEqual(d, plain)) {
			t.Fatalf("%q was read as %+v, not as %+v", raw, d, plain)
		}
		if err == nil && bodies.Decode(must(json.Marshal(d)), new(wire.Decision)) != nil {
			t.Fatalf("%q was taken, and what it says is not", raw)
		}
	})
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}

// repeats says whether some object of a value has a member twice: the plain way to find it.
func repeats(raw json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return false
	}
	seen := map[json.Token]bool{}
	for dec.More() {
		if open == json.Delim('{') {
			name, err := dec.Token()
			if err != nil || seen[name] {
				return err == nil
			}
			seen[name] = true
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return false
		}
		if repeats(value) {
			return true
		}
	}
	return false
}
