package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

func TestTextIsCutBetweenCharacters(t *testing.T) {
	for _, tt := range []struct {
		text         string
		most         int
		bytes, runes string
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc…", "abc…"},
		{"abc", 0, "…", "…"},
		{"äöü", 6, "äöü", "äöü"},
		{"äöü", 3, "ä…", "äöü"},
		{"äöü", 1, "…", "ä…"},
		{"a😀b", 4, "a…", "a😀b"},
		{"a😀b", 5, "a😀…", "a😀b"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80…", "\x80\x80\x80\x80\x80…"},
		{"a\xff\xff", 2, "a\xff…", "a\xff…"},
		{"\x80\x80", 1, "\x80…", "\x80…"},
	} {
		if got := clip.Bytes(tt.text, tt.most, "…"); got != tt.bytes {
			t.Errorf("%d bytes of %q: %q, want %q", tt.most, tt.text, got, tt.bytes)
		}
		if got := clip.Runes(tt.text, tt.most, "…"); got != tt.runes {
			t.Errorf("%d characters of %q: %q, want %q", tt.most, tt.text, got, tt.runes)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("a😀b", 3)
	f.Add("\x80\x80\x80\x80\x80", 2)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 0 || most > len(text)+10 {
			return
		}
		b, r := clip.Bytes(text, most, ""), clip.Runes(text, most, "")
		if !strings.HasPrefix(text, b) || len(b) > most || len(b) < min(len(text), most)-utf8.UTFMax+1 {
			t.Errorf("%d bytes of %q: %q", most, text, b)
		}
		if !strings.HasPrefix(text, r) || utf8.RuneCountInString(r) != min(most, utf8.RuneCountInString(text)) {
			t.Errorf("%d characters of %q: %q", most, text, r)
		}
		if utf8.ValidString(text) && !(utf8.ValidString(b) && utf8.ValidString(r)) {
			t.Errorf("%q was cut within a character: %q, %q", text, b, r)
		}
	})
}
