package printable_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// drawn is a text as a line of a terminal, and the codes of its warnings.
func drawn(text string) (line, codes string) {
	s := printable.Spell(text)
	var all []string
	for _, w := range s.Warnings {
		all = append(all, w.Code)
	}
	return printable.Terminal(s), strings.Join(all, " ")
}

func TestTextIsSpelledSoThatItMisleadsNobody(t *testing.T) {
	for name, tt := range map[string]struct{ text, want, codes string }{
		"plain":                          {"Acme Tools, 5 pcs. <b>", "Acme Tools, 5 pcs. <b>", ""},
		"another alphabet":               {"Größe 日本 Москва", "Größe 日本 Москва", ""},
		"reorders":                       {"a\u202etxt.exe\u2066", "a<U+202E>txt.exe<U+2066>", "hidden"},
		"takes no room":                  {"pay\u200bpal\ufeff\u00ad", "pay<U+200B>pal<U+FEFF><U+00AD>", "hidden"},
		"takes no room, often":           {"a\u200b\u200b\u200bb", "a<3 times U+200B>b", "hidden"},
		"looks like a blank":             {"rm\u00a0x\u2800y\u3164z\u115f", "rm<U+00A0>x<U+2800>y<U+3164>z<U+115F>", "hidden"},
		"a tag":                          {"a\U000e0041", "a<U+E0041>", "hidden"},
		"a selector":                     {"a\ufe0f", "a<U+FE0F>", "hidden"},
		"a terminal's escape":            {"a\x1b[2Jb\u009b31m", "a<U+001B>[2Jb<U+009B>31m", "hidden"},
		"half a pair":                    {"Ann\xed\xa0\x80", "Ann<U+D800>", "not_text"},
		"a byte":                         {"a\xff", "a<byte FF>", "not_text"},
		"66 blanks":                      {"Acme" + strings.Repeat(" ", 66) + "x", "Acme<66 blanks>x", "blanks"},
		"two blanks":                     {"a  b", "a<2 blanks>b", "blanks"},
		"blanks at the edges":            {" a ", "<blank>a<blank>", "blanks"},
		"a tab and a line":               {"a\tb\nc", "a<tab>b<line break>c", "blanks"},
		"accents that pile up":           {"a" + strings.Repeat("\u0301", 5), "a\u0301\u0301\u0301<2 times U+0301>", "marks"},
		"an accent on nothing":           {"\u0301a", "<U+0301>a", "marks"},
		"Latin mixed with Cyrillic":      {"P\u0430yp\u0430l Inc", "P<U+0430 Cyrillic а>yp<U+0430 Cyrillic а>l Inc", "mixed_scripts"},
		"Latin mixed with Greek":         {"Paypa\u03b9", "Paypa<U+03B9 Greek ι>", "mixed_scripts"},
		"Latin mixed with Armenian":      {"g\u0585ogle", "g<U+0585 Armenian օ>ogle", "mixed_scripts"},
		"Latin mixed with Cherokee":      {"\u13aapple", "<U+13AA Cherokee Ꭺ>pple", "mixed_scripts"},
		"all Cyrillic, reads like Latin": {"\u0430\u0440\u0440\u04cf\u0435", "<U+0430 Cyrillic а><U+0440 Cyrillic р><U+0440 Cyrillic р><U+04CF Cyrillic ӏ><U+0435 Cyrillic е>", "looks_like"},
		"one letter in an identifier":    {"\u0410-17", "<U+0410 Cyrillic А>-17", "looks_like"},
		"short words among their own":    {"Москва и его рост, а ухо", "Москва и его рост, а ухо", ""},
		"Japanese beside Latin":          {"GitHubの設定", "GitHubの設定", ""},
		"wide letters and digits":        {"\uff21\uff11", "<U+FF21 Latin Ａ><U+FF11 １>", "styled"},
		"mathematical letters":           {"\U0001d400", "<U+1D400 𝐀>", "styled"},
		"digits of another script":       {"\u0967\u0662", "<U+0967 Devanagari १><U+0662 Arabic>", "digits"},
		"raised digits":                  {"10\u2075", "10<U+2075 ⁵>", "digits"},
		"a dot that is none":             {"\u2024\u2024/etc", "<U+2024 ․><U+2024 ․>/etc", "punctuation"},
		"a phonetic letter":              {"pa\u0261e", "pa<U+0261 Latin ɡ>e", "looks_like"},
		"a stroke of Japanese alone":     {"https:\u30ce\u30ceevil", "https:<U+30CE Katakana ノ><U+30CE Katakana ノ>evil", "punctuation"},
		"Hebrew":                         {"\u05d0\u05d1", "<from right to left: U+05D0 U+05D1>", ""},
		"Hebrew and digits":              {"\u05d0 100 \u05d1", "<from right to left: U+05D0> 100 <from right to left: U+05D1>", "order"},
		"forges a mark":                  {"<U+202E><66 blanks><blank><byte FF><Yes (true)>", "<U+003C>U+202E><U+003C>66 blanks><U+003C>blank><U+003C>byte FF><U+003C>Yes (true)>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, codes := drawn(tt.text)
			if got != tt.want || codes != tt.codes {
				t.Errorf("%q is drawn\n%s (%s), want\n%s (%s)", tt.text, got, codes, tt.want, tt.codes)
			}
		})
	}
}

func TestPiecesReadInOneDirectionAndStandInTheirOrder(t *testing.T) {
	for text, want := range map[string][]string{
		"אבג 100 דהו 9000 EUR":         {"אבג ", "100 ", "דהו ", "9000 EUR"},
		"סכום: 50, 70":                 {"סכום: ", "50, 70"},
		"acct א 12-34-56 / 999 ב end":  {"acct ", "א ", "12-34-56 / 999 ", "ב ", "end"},
		"\u0627\u0662":                 {"\u0627", "\u0662"},
		"שלום עולם":                    nil,
		"1, 2 and 3":                   nil,
		"a\u202e\u05d0":                {"a\u202e", "\u05d0"},
		"\u05d0" + "\u0301" + "\u05d1": nil,
	} {
		var got []string
		for _, piece := range printable.Spell(text).Order {
			got = append(got, printable.Spelled{Parts: piece}.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzSpell(f *testing.F) {
	for _, tt := range hostile {
		f.Add(tt.text)
	}
	for _, text := range []string{"P\u0430ypal", "א 100 ב", "a    b", "\xed\xa0\x80", "<U+202E>", "\uff11", "12\u2024"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := printable.Spell(text)
		if s.String() != text {
			t.Fatalf("%q comes back as %q", text, s.String())
		}
		var ordered strings.Builder
		for _, piece := range s.Order {
			ordered.WriteString(printable.Spelled{Parts: piece}.String())
		}
		if s.Order != nil && ordered.String() != text {
			t.Fatalf("the pieces of %q are %q", text, ordered.String())
		}
		if back := stripped(printable.Terminal(s)); back != text {
			t.Fatalf("%q is drawn %q, which says %q", text, printable.Terminal(s), back)
		}
		for _, p := range s.Parts {
			showsAlone(t, p)
		}
		for _, w := range s.Warnings {
			asciiAlone(t, w.Text)
		}
		for _, r := range printable.Terminal(s) {
			if isHidden(r) || rightToLeft(r) {
				t.Fatalf("%q of %q reaches the terminal", r, text)
			}
		}
	})
}

// showsAlone demands that a part is shown by characters that show.
func showsAlone(t *testing.T, p printable.Part) {
	t.Helper()
	shown := p.Text
	if p.Kind == printable.Chip || p.Kind == printable.Break {
		shown = p.Label
	}
	for _, r := range shown + p.Label + p.Script {
		if isHidden(r) {
			t.Fatalf("%q of %+v would be shown", r, p)
		}
	}
}

func asciiAlone(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r < ' ' || r > '~' {
			t.Fatalf("a warning has %q: %q", r, text)
		}
	}
}

func isHidden(r rune) bool {
	return unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp)
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam) && unicode.IsLetter(r)
}
