package intake_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

func TestReadRefusesWhatTheAPIRefuses(t *testing.T) {
	long := `{"idempotency_key":"k","agent":"a","input":"` + strings.Repeat("x", intake.MaxBody) + `"}`
	for _, tt := range []struct {
		name, body string
		code       refusal.Code // "" if it is taken
		says       string
	}{
		{"a start with a key", `{"idempotency_key":"k","agent":"a","input":"go","metadata":{"n":1},"on_pending":"queue"}`, "", ""},
		{"without a key", `{"agent":"a","input":"go"}`, refusal.CodeInvalid, "idempotency_key"},
		{"with an empty key", `{"idempotency_key":"","agent":"a","input":"go"}`, refusal.CodeInvalid, "idempotency_key"},
		{"a key that is a number", `{"idempotency_key":7,"agent":"a","input":"go"}`, "malformed_body", "idempotency_key"},
		{"a tenant in the message", `{"idempotency_key":"k","agent":"a","input":"go","tenant":"acme"}`, "unknown_field", "tenant"},
		{"a member twice", `{"idempotency_key":"k","agent":"a","agent":"b","input":"go"}`, "malformed_body", "twice"},
		{"half a message", `{"idempotency_key":"k","agent":"a","inp`, "malformed_body", "JSON"},
		{"no UTF-8", "{\"idempotency_key\":\"k\",\"agent\":\"a\",\"input\":\"\xff\"}", "malformed_body", "UTF-8"},
		{"nothing", "", "malformed_body", "JSON"},
		{"more than a body may have", long, intake.CodeTooLarge, "larger"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := intake.Read([]byte(tt.body))
			var e *refusal.Error
			switch {
			case tt.code == "" && err != nil:
				t.Error(err)
			case tt.code != "" && (!errors.As(err, &e) || e.Code != tt.code || !strings.Contains(e.Detail, tt.says)):
				t.Errorf("got %v, want %s with %q", err, tt.code, tt.says)
			}
		})
	}
}

func TestLines(t *testing.T) {
	type line struct {
		Number int
		Body   string
	}
	for _, tt := range []struct {
		name, text string
		want       []line
	}{
		{"nothing", "", nil},
		{"blank lines are counted and left out", "a\n\n \t\nb\n", []line{{1, "a"}, {4, "b"}}},
		{"the last line needs no end", "a\nb", []line{{1, "a"}, {2, "b"}}},
		{"lines of another system", "a\r\nb\r\n", []line{{1, "a"}, {2, "b"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []line
			if err := intake.Lines(strings.NewReader(tt.text), func(l intake.Line) error {
				got = append(got, line{l.Number, string(l.Body)})
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAVeryLongLineIsTooLargeAndNotKept(t *testing.T) {
	text := strings.Repeat("x", 5*intake.MaxBody) + "\nshort\n" + strings.Repeat("y", intake.MaxBody) + "\n"
	var sizes []int
	err := intake.Lines(strings.NewReader(text), func(l intake.Line) error {
		sizes = append(sizes, len(l.Body))
		return nil
	})
	if err != nil || len(sizes) != 3 || sizes[1] != 5 || sizes[2] != intake.MaxBody {
		t.Fatalf("sizes %v, %v", sizes, err)
	}
	if sizes[0] <= intake.MaxBody || sizes[0] > 2*intake.MaxBody {
		t.Errorf("%d bytes of the long line were kept; it must be more than %d, and not much", sizes[0], intake.MaxBody)
	}
}

func TestLinesStopAtAnError(t *testing.T) {
	wrong, seen := errors.New("wrong"), 0
	err := intake.Lines(strings.NewReader("a\nb\nc\n"), func(intake.Line) error {
		seen++
		return wrong
	})
	if !errors.Is(err, wrong) || seen != 1 {
		t.Errorf("%d lines seen, %v", seen, err)
	}
}
