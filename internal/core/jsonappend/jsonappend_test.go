package jsonappend_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/jsonappend"
)

// FuzzText compares with encoding/json, also where a text does not begin at a multiple of eight.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a", "eight by", "a \"quoted\" one\\ and more of it", "\x00\x01\x1f \x7f\b\f\n\r\t<&>", "h\u00e9llo w\u00f6rld \u2028\u2029\u2027",
		"\xff\xfe\xc3", "\xed\xa0\x80 a surrogate", "a \U0001f600 b", "\ufffd", strings.Repeat("word ", 9) + "\x1f", "\x1f !\x1f !\x1f !#[]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for range 9 {
			if got, want := string(jsonappend.Text(nil, s)), string(core.Encode(s)); got != want {
				t.Fatalf("%q: %s, want %s", s, got, want)
			}
			s = "." + s
		}
	})
}

// TestEveryByteAtEveryPlace: eight bytes are examined at once.
func TestEveryByteAtEveryPlace(t *testing.T) {
	for at := range 17 {
		for b := range 256 {
			for _, after := range []byte{0, ' ', '"', '\\', 0x80, 0xff, '!', '#'} {
				text := []byte(strings.Repeat("a", 18))
				text[at], text[at+1] = byte(b), after
				if got, want := string(jsonappend.Text(nil, string(text))), string(core.Encode(string(text))); got != want {
					t.Fatalf("%q: %s, want %s", text, got, want)
				}
			}
		}
	}
}

func TestAListIsThatOfEncodingJSON(t *testing.T) {
	for _, texts := range [][]string{{}, {"a<b"}, {"a", "\"", "\n"}} {
		if got, want := string(jsonappend.List(nil, texts, jsonappend.Text)), string(core.Encode(texts)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
