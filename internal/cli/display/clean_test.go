package display

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// hostile is text that would do something to a terminal, or to the eye.
var hostile = map[string]string{
	"clears the screen":            "a\x1b[2Jb",
	"sets the title":               "\x1b]0;yes\x07",
	"an escape of one byte":        "\u009b31m",
	"goes back over what is there": "deny\b\b\b\bapprove\r",
	"another line":                 "a\nb\tc",
	"reads from right to left":     "a\u202etxt.exe\u2066",
	"takes no room":                "pay\u200bpal\ufeff\u00ad",
	"looks like a blank":           "rm\u00a0x\u3000y\u2800z\u3164",
	"a line that is none":          "a\u2028b\u2029c",
	"the character for none":       "a\ufffdb",
	"for private use":              "\ue000\U000f0000",
	"nothing":                      "",
	"no character":                 "a\xffb\xc3",
	"a tag that nobody sees":       "\U000e0041",
	"climbs into other lines":      "a" + strings.Repeat("\u0301", 5),
	"means nothing bad":            "Größe 日本 🎉 c'est \"ça\" ≤ 5",
	"has escapes in words already": `C:\x1b`,
}

func TestHostileJSONStaysTheSameValue(t *testing.T) {
	for name, text := range hostile {
		if strings.Contains(name, "no character") {
			continue // which JSON cannot say
		}
		t.Run(name, func(t *testing.T) {
			before := map[string]string{"command": text, text: "  two  blanks  "}
			raw, err := json.Marshal(before)
			if err != nil {
				t.Fatal(err)
			}
			for _, shown := range []string{CleanJSON(raw), strings.Join(CleanJSONLines(raw), "\n")} {
				var after map[string]string
				if err := json.Unmarshal([]byte(shown), &after); err != nil {
					t.Fatalf("%v: %s", err, shown)
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("what is shown is something else (-sent +shown):\n%s", diff)
				}
				holdsNothingHidden(t, strings.ReplaceAll(shown, "\n", ""))
			}
		})
	}
}

func TestProseKeepsItsLinesAndNothingElse(t *testing.T) {
	got := CleanProse("one\r\ntwo\tthree ⚠\ufe0f\n\x1b[1mfour\n\n")
	want := []string{"one", "two    three ⚠", `\x1b[1mfour`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// holdsNothingHidden demands text on one line without anything that does not show.
func holdsNothingHidden(t *testing.T, shown string) {
	t.Helper()
	for _, r := range shown {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || printable.Text(string(r)) != string(r) {
			t.Errorf("%q reaches the terminal in %q", r, shown)
		}
	}
}
