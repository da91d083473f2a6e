package printable_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// hostile is text that would do something to a terminal, or to the eye, and what a person is shown
// instead.
var hostile = map[string]struct{ text, want string }{
	"clears the screen":            {"a\x1b[2Jb", `a\x1b[2Jb`},
	"sets the title":               {"\x1b]0;yes\x07", `\x1b]0;yes\x07`},
	"an escape of one byte":        {"\u009b31m", `\u009b31m`},
	"goes back over what is there": {"deny\b\b\b\bapprove\r", `deny\x08\x08\x08\x08approve\r`},
	"another line":                 {"a\nb\tc", `a\nb\tc`},
	"reads from right to left":     {"a\u202etxt.exe\u2066", `a\u202etxt.exe\u2066`},
	"takes no room":                {"pay\u200bpal\ufeff\u00ad", `pay\u200bpal\ufeff\u00ad`},
	"looks like a blank":           {"rm\u00a0x\u3000y\u2800z\u3164", `rm\u00a0x\u3000y\u2800z\u3164`},
	"a line that is none":          {"a\u2028b\u2029c", `a\u2028b\u2029c`},
	"no character":                 {"a\xffb\xc3", `a\xffb\xc3`},
	"the character for none":       {"a\ufffdb", `a\ufffdb`},
	"for private use":              {"\ue000\U000f0000", `\ue000\U000f0000`},
	"a tag that nobody sees":       {"\U000e0041", `\U000e0041`},
	"climbs into other lines":      {"a" + strings.Repeat("\u0301", 5), "a" + strings.Repeat("\u0301", 3) + `\u0301\u0301`},
	"means nothing bad":            {"Größe 日本 🎉 c'est \"ça\" ≤ 5", "Größe 日本 🎉 c'est \"ça\" ≤ 5"},
	"has escapes in words already": {`C:\x1b`, `C:\x1b`},
	"nothing":                      {"", ""},
}

func TestWhatWouldNotShowIsWrittenOut(t *testing.T) {
	for name, tt := range hostile {
		t.Run(name, func(t *testing.T) {
			if got := printable.Text(tt.text); got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if again := printable.Text(printable.Text(tt.text)); again != tt.want {
				t.Errorf("done again it is %q", again)
			}
		})
	}
}

func TestJSONStaysTheSameValue(t *testing.T) {
	for _, text := range []string{"a\u202eb", "\U000e0041\u3164", "plain", "Größe", "a\u0301\u0301\u0301\u0301\u0301"} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		shown := printable.JSON(string(raw))
		var back string
		if err := json.Unmarshal([]byte(shown), &back); err != nil || back != text {
			t.Errorf("%q is shown as %s, which is %q, %v", text, shown, back, err)
		}
		if printable.Text(shown) != shown {
			t.Errorf("%q is shown as %s, where something does not show", text, shown)
		}
	}
}
