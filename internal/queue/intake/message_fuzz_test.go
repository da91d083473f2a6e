package intake_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// A message is either refused, with a code and words, and then nothing is started; or it is read,
// and then the rest of it is what the HTTP API would take, and what is written back is read as the
// same.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{good, `{"agent":"a"}`, `{"idempotency_key":"k","Agent":"a"}`, "\xff", `{"idempotency_key":"k","idempotency_key":"k"}`,
		`{"idempotency_key":"k","input":[{"type":"text","text":"x"}],"memory":false,"permissions":{"deny":["*"]}}`, `{"StartRequest":{}}`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := intake.Read(raw)
		s := &starter{}
		result := handlerOf(s).Decide(t.Context(), delivery(string(raw)))
		if err != nil {
			refused, ok := errors.AsType[*refusal.Error](err)
			if !ok || refused.Code == "" || refused.Detail == "" || len(refused.Detail) > 500 {
				t.Fatalf("%q is refused with %v", raw, err)
			}
			if result.Outcome != intake.Dead || result.Code != refused.Code || s.key != "" {
				t.Fatalf("%q is refused, and its result is %+v, asked for with key %q", raw, result, s.key)
			}
			return
		}
		if result.Outcome != intake.Duplicate || s.key != m.IdempotencyKey || s.key == "" {
			t.Fatalf("%q: result %+v, key %q", raw, result, s.key)
		}
		body, err := json.Marshal(m.StartRequest)
		if err == nil {
			err = strictjson.Decode(body, new(wire.StartRequest))
		}
		if err != nil {
			t.Fatalf("%q is taken, and its start %s is not: %v", raw, body, err)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := intake.Read(again)
		if diff := cmp.Diff(written(t, m), written(t, back)); err != nil || diff != "" {
			t.Fatalf("%q written and read again: %v\n%s", raw, err, diff)
		}
	})
}

func written(t *testing.T, m intake.Message) string {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
