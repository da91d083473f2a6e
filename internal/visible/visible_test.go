package visible_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/visible"
)

func TestWhatWouldNotShowIsWrittenOut(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"Größe 日本 🎉 ≤ 5":                  "Größe 日本 🎉 ≤ 5",
		"a\x1b[2Jb":                       `a\x1b[2Jb`,
		"a\u202eb":                        `a\u202eb`,
		"one\ntwo":                        `one\ntwo`,
		"a\xffb":                          `a\xffb`,
		"a" + strings.Repeat("\u0301", 4): "a" + strings.Repeat("\u0301", 3) + `\u0301`,
		"y\u2800z\u3164":                  `y\u2800z\u3164`,
		"\U000e0041":                      `\U000e0041`,
		`C:\x1b is written out already`:   `C:\x1b is written out already`,
	} {
		if got := visible.Text(text); got != want || visible.Text(got) != want {
			t.Errorf("Text(%q) = %q, want %q, and no more when done again", text, got, want)
		}
	}
}

func TestJSONStaysTheSameValue(t *testing.T) {
	for _, text := range []string{"a\u202eb", "\U000e0041\u3164", "plain", "Größe", "a\u0301\u0301\u0301\u0301\u0301"} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		shown := visible.JSON(string(raw))
		var back string
		if err := json.Unmarshal([]byte(shown), &back); err != nil || back != text {
			t.Errorf("%q is shown as %s, which is %q, %v", text, shown, back, err)
		}
		if visible.Text(shown) != shown {
			t.Errorf("%q is shown as %s, where something does not show", text, shown)
		}
	}
}
