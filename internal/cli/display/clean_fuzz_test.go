package display

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzClean(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, words string) {
		holdsNothingHidden(t, Clean(words))
		holdsNothingHidden(t, CleanJSON(json.RawMessage(words)))
		holdsNothingHidden(t, Line{{Red, words}}.Render(false))
		for _, columns := range []int{1, 20, 80} {
			if shown := cut(Clean(words), columns); Wide(shown) > columns {
				t.Errorf("cut to %d it takes %d: %q", columns, Wide(shown), shown)
			}
		}
		var kept strings.Builder
		for _, part := range Text(words).Wrap(24, 0) {
			if kept.WriteString(part.String()); Wide(part.String()) > 24 {
				t.Errorf("a line of 24 takes %d: %q", Wide(part.String()), part)
			}
		}
		if kept.String() != Clean(words) {
			t.Errorf("wrapped it says %q, want %q", kept.String(), Clean(words))
		}
	})
}
