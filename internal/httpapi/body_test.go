package httpapi

import (
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/frontend"
)

func TestBodiesMayBeNestedSoDeep(t *testing.T) {
	deep := func(n int, open, end string) string { return strings.Repeat(open, n) + "1" + strings.Repeat(end, n) }
	for _, tt := range []struct {
		name, text string
		refused    bool
	}{
		{"as deep as may be", deep(maxDepth, `{"a":`, "}"), false},
		{"one deeper", deep(maxDepth+1, `{"a":`, "}"), true},
		{"lists in an object", `{"a":` + deep(maxDepth, "[", "]") + "}", true},
		{"many beside one another", `{"a":[` + strings.Repeat("[{}],", 2*maxDepth) + "[]]}", false},
		{"brackets in a text", `{"a":"` + strings.Repeat("[", 2*maxDepth) + `"}`, false},
		{"brackets in a text, behind a quote", `{"a":"\"` + strings.Repeat("{", 2*maxDepth) + `\\"}`, false},
		{"brackets behind a text that ends in a backslash", `{"\\":` + deep(maxDepth, "[", "]") + "}", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := checkJSON([]byte(tt.text))
			if !tt.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*frontend.Error](err); !ok || e.Code != codeMalformed || !strings.Contains(e.Detail, "deep") {
				t.Errorf("got %v, want it refused as too deep", err)
			}
		})
	}
}

// While too many bytes are on their way, large bodies have to come again; small ones are taken, and what was counted is given back.
func TestLargeBodiesAreRefusedWhileTooManyComeAtOnce(t *testing.T) {
	small, large := `{"a":1}`, `{"a":"`+strings.Repeat("x", 2*smallBody)+`"}`
	read := func(text string) error {
		before := inFlight.Load()
		_, err := readAll(strings.NewReader(text))
		if now := inFlight.Load(); now != before {
			t.Errorf("%d bytes are counted, %d before", now, before)
		}
		return err
	}
	if err := errors.Join(read(small), read(large)); err != nil {
		t.Fatal(err)
	}
	inFlight.Add(allBodies)
	defer inFlight.Add(-allBodies)
	if err := read(small); err != nil {
		t.Errorf("a small body: %v", err)
	}
	if err := read(large); !errors.Is(err, errCrowded) {
		t.Errorf("a large body: %v, want it refused", err)
	}
}
