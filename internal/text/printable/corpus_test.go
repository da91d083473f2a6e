package printable_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// specimen is one line of testdata/hostile.jsonl: a value as a model may write it, and the codes of
// the warnings that it must lead to. The test in a browser reads the same file.
type specimen struct {
	Name  string   `json:"name"`
	Raw   string   `json:"raw"`
	Warns []string `json:"warns"`
}

func corpus(t *testing.T) (all []specimen) {
	t.Helper()
	file, err := os.ReadFile("testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(file)) {
		var s specimen
		if err := json.Unmarshal([]byte(line), &s); err != nil || seen[s.Raw] || seen[s.Name] {
			t.Fatalf("%v: %s", err, line)
		}
		seen[s.Raw], seen[s.Name] = true, true
		all = append(all, s)
	}
	if len(all) < 200 {
		t.Fatalf("%d values", len(all))
	}
	return all
}

func TestHostileValuesLeadToTheirWarnings(t *testing.T) {
	for _, s := range corpus(t) {
		t.Run(s.Name, func(t *testing.T) {
			if got := codesOf(`{"x":` + s.Raw + `}`); !slices.Equal(got, s.Warns) {
				t.Errorf("as a value %s warns of %v, want %v", s.Raw, got, s.Warns)
			}
			for _, row := range printable.TerminalRows([]byte(`{"x":` + s.Raw + `}`)) {
				for _, line := range slices.Concat([]string{row.First}, row.Further, row.Warnings) {
					if printable.Text(line) != line {
						t.Errorf("%q is not fit for a terminal", line)
					}
					for _, r := range line {
						if isHidden(r) || rightToLeft(r) {
							t.Errorf("%q reaches the terminal in %q", r, line)
						}
					}
				}
			}
		})
	}
}

// codesOf are the warnings of some JSON, each once, in alphabetical order.
func codesOf(raw string) []string {
	codes := []string{}
	for _, w := range printable.Warnings([]byte(raw), 1000) {
		codes = append(codes, w.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// TestHostileNamesAreSpelledAsWell puts each text where the name of a member is.
func TestHostileNamesAreSpelledAsWell(t *testing.T) {
	ofNames := []string{"order", "digits", "hidden", "blanks", "marks", "mixed_scripts", "looks_like", "styled", "punctuation", "not_text"}
	for _, s := range corpus(t) {
		if !strings.HasPrefix(s.Raw, `"`) {
			continue
		}
		var want []string
		for _, code := range s.Warns {
			if slices.Contains(ofNames, code) {
				want = append(want, code)
			}
		}
		if got := codesOf(`{` + s.Raw + `:1}`); !slices.Equal(got, want) {
			t.Errorf("%s: as a name %s warns of %v, want %v", s.Name, s.Raw, got, want)
		}
	}
}
