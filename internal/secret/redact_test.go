package secret

import (
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// keys are secrets with the characters that keys have.
var keys = []string{"aB3+xY9/Zk7q==", `s3cret "quoted" <&> 100%/x\y`, `\\\"%25%2b&amp;&#43;`, "sk_live_51H-abc.DEF~", "a'b`c$d|e{f}[g](h)!*@,;:?^#", "p", `\u002b`, "++  ++"}

func inJSON(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted[1 : len(quoted)-1])
}

func eachOf(format string) func(string) string {
	return func(text string) (out string) {
		for _, c := range []byte(text) {
			out += fmt.Sprintf(format, c)
		}
		return out
	}
}

// special puts special characters into a format and leaves the others.
func special(which, format string) func(string) string {
	return func(text string) (out string) {
		for _, c := range []byte(text) {
			if strings.IndexByte(which, c) >= 0 {
				out += fmt.Sprintf(format, c)
			} else {
				out += string(c)
			}
		}
		return out
	}
}

func both(a, b func(string) string) func(string) string {
	return func(text string) string { return b(a(text)) }
}

// spellers are what widespread languages and libraries make of a text.
var spellers = map[string]func(string) string{
	"as it is":                   func(text string) string { return text },
	"a query":                    url.QueryEscape,
	"a path":                     url.PathEscape,
	"JSON":                       inJSON,
	"JSON with escaped slashes":  func(text string) string { return strings.ReplaceAll(inJSON(text), "/", `\/`) },
	"JSON that is safe in HTML":  func(text string) string { return strings.ReplaceAll(special(`+<>&'`, `\u%04X`)(text), `"`, `\"`) },
	"lower-case escapes":         special("+/=%&<> \"\\", "%%%02x"),
	"a query with its slashes":   special("+=%&<> \"\\", "%%%02X"),
	"every character escaped":    eachOf("%%%02X"),
	"HTML":                       html.EscapeString,
	"HTML, by number":            special("+=/&<>\"'", "&#%d;"),
	"HTML, by padded number":     special("+=/&<>\"'", "&#%03d;"),
	"HTML, in hexadecimals":      special("+=/&<>\"'", "&#x%X;"),
	"a literal of Python":        eachOf(`\x%02x`),
	"JavaScript":                 eachOf(`\u{%x}`),
	"a regular expression":       special("+.*?()[]{}|^$/\\-", `\%c`),
	"a query in a query":         both(url.QueryEscape, url.QueryEscape),
	"JSON in JSON":               both(inJSON, inJSON),
	"JSON in JSON in JSON":       both(inJSON, both(inJSON, inJSON)),
	"HTML in HTML":               both(html.EscapeString, html.EscapeString),
	"JSON in a literal of .NET":  both(special(`+<>&"`, `\u%04X`), func(text string) string { return strings.ReplaceAll(text, `\`, `\\`) }),
	"HTML with names for it all": func(text string) (out string) { return namesFor(text) },
}

func namesFor(text string) (out string) {
	for _, c := range []byte(text) {
		if name := entityNames[c]; name != "" {
			out += "&" + name + ";"
		} else {
			out += string(c)
		}
	}
	return out
}

func TestNamesOfCharactersAreThoseOfHTML(t *testing.T) {
	for c, name := range entityNames {
		if got := html.UnescapeString("&" + name + ";"); got != string(c) {
			t.Errorf("&%s; is %q, not %q", name, got, c)
		}
	}
}

func TestNoSpellingOfASecretStays(t *testing.T) {
	for name, spell := range spellers {
		for _, key := range keys {
			got := (Values{"TOKEN": key}).Redact("<< " + spell(key) + " >>")
			if len(key) > 1 && got != "<< [secret TOKEN] >>" || !strings.Contains(got, "[secret TOKEN]") {
				t.Errorf("%s of %s: %s", name, key, got)
			}
		}
	}
}

// TestASecretThatIsCutLeavesNothing cuts each spelling at every place.
func TestASecretThatIsCutLeavesNothing(t *testing.T) {
	for name, spell := range spellers {
		for _, key := range keys {
			s, spelling := Values{"TOKEN": key}, spell(key)
			for n := range len(spelling) {
				if n > 0 && !utf8.RuneStart(spelling[n]) {
					continue
				}
				got := s.CutEnd(s.Redact("<< " + spelling[:n]))
				if rest := strings.ReplaceAll(strings.TrimPrefix(got, "<< "), "[secret TOKEN]", ""); rest != "" {
					t.Errorf("%s of %s, cut at %d: %s", name, key, n, got)
				}
			}
		}
	}
}

// TestMixedSpellings: each character is spelled in another way.
func TestMixedSpellings(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	ways := []func(byte) string{func(c byte) string { return string(c) }, func(c byte) string { return fmt.Sprintf("%%%02X", c) }, func(c byte) string { return fmt.Sprintf(`\u%04x`, c) },
		func(c byte) string { return fmt.Sprintf("&#%d;", c) }, func(c byte) string { return fmt.Sprintf("%%25%02x", c) }}
	for range 2000 {
		value, spelling := "", ""
		for range 1 + r.IntN(30) {
			c := byte(' ' + r.IntN('~'-' '+1))
			value, spelling = value+string(c), spelling+ways[r.IntN(len(ways))](c)
		}
		s := Values{"K": value}
		if got := s.Redact("\n" + spelling + "\n"); got != "\n[secret K]\n" && len(value) > 3 || !s.In(spelling) {
			t.Fatalf("seed %d: %q, spelled %q: %q", seed, value, spelling, got)
		}
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	s := Values{"TOKEN": "aB3+xY9/Zk7q==", "NAME": "nobody"}
	for _, text := range []string{"", "ab3+xy9/zk7r==", "aB3+xY9/Zk7+x+q==", "Nobody", "n-o-b-o-d-y", `a\nobody`, "%", `\`, "&", "100% of R&D \\ &amp; 3 + 4", "[secret TOKEN]", "[secret TOKEN", "caf\xe9"} {
		want := strings.ReplaceAll(text, "nobody", "[secret NAME]")
		if got := s.Redact(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestSecretsThatOverlapAllGo: no end of one is left because another was found before it.
func TestSecretsThatOverlapAllGo(t *testing.T) {
	s := Values{"A": "user:s3", "B": "s3cret", "C": "s3cret-long"}
	for text, want := range map[string]string{"user:s3cret": "[secret A]", "user:s3cret-long!": "[secret A]!", "s3cret-long": "[secret C]", "s3crets3cret": "[secret B][secret B]"} {
		if got := s.Redact(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
