package inbox

import (
	"testing"
	"unicode"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// holdsNothingHidden checks that no character of what is drawn is invisible or moves others.
func holdsNothingHidden(t *testing.T, shown string) {
	t.Helper()
	for _, r := range shown {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || printable.Text(string(r)) != string(r) {
			t.Errorf("%q reaches the terminal in %q", r, shown)
		}
	}
}
