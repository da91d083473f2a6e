package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// What is read of a request or an answer is written so that it reads the same: nothing a caller
// said is lost between two programs.
func FuzzShapes(f *testing.F) {
	for _, seed := range []string{
		`{"agent":"desk","input":[{"type":"text","text":"a"}],"metadata":{"n":1.50},"permissions":null,"memory":false}`,
		`{"decisions":[{"target":"sus_4_a","result":null,"arguments":{"a":1,"a":2},"grant":"run"},null]}`,
		`{"items":[{"seq":9007199254740993,"at":"2026-03-01T12:00:00.000Z","data":[[]]}],"next":"","done":true}`,
		`{"id":"run_a_0","pending":[{"suspension":{"response_schema":true},"deadline":"2026-03-01T12:00:00.999999+02:00"}],"output":"\ud800","error":{},"usage":{"input_tokens":-1}}`,
		`{"type":"about:blank","status":409,"same":false,"winner":{"result":1e999}}`, `{"Agent":1}`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		comesBack[wire.StartRequest](t, raw)
		comesBack[wire.MessageRequest](t, raw)
		comesBack[wire.ResumeRequest](t, raw)
		comesBack[wire.Decision](t, raw)
		comesBack[wire.Decisions](t, raw)
		comesBack[wire.DecisionAnswers](t, raw)
		comesBack[wire.Run](t, raw)
		comesBack[wire.Page[wire.Approval]](t, raw)
		comesBack[wire.Page[wire.Message]](t, raw)
		comesBack[wire.EventPage](t, raw)
		comesBack[wire.Problem](t, raw)
	})
}

// comesBack writes what raw says as a T, and reads it again. A value that JSON cannot write is none
// that this program makes.
func comesBack[T any](t *testing.T, raw []byte) {
	t.Helper()
	var v, back T
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	first, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%T %s cannot be written: %v", v, raw, err)
	}
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatalf("%T %s cannot be read again: %v", v, first, err)
	}
	if second, err := json.Marshal(back); err != nil || string(second) != string(first) {
		t.Fatalf("%T %s became %s (%v)", v, first, second, err)
	}
	if run, ok := any(back).(wire.Run); ok {
		_, _ = run.OutputText()
	}
}

// Times are RFC 3339 to the millisecond, for every moment that has such a form.
func FuzzTime(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(-1))
	f.Add(int64(1_772_366_400_999))
	f.Add(int64(1 << 62))
	f.Fuzz(func(t *testing.T, ms int64) {
		written, err := json.Marshal(wire.Millis(ms))
		if err != nil {
			t.Fatal(err)
		}
		if year := time.UnixMilli(ms).UTC().Year(); year < 0 || year > 9999 {
			return
		}
		var back wire.Time
		if err := json.Unmarshal(written, &back); err != nil || back.UnixMilli() != ms {
			t.Fatalf("%d was written as %s and read as %d (%v)", ms, written, back.UnixMilli(), err)
		}
	})
}
