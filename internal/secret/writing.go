package secret

import (
	"encoding/base64"
	"slices"
	"strings"
)

// writing is one form of a value: as it is, or as part of a text that was encoded as base64.
type writing struct{ name, text string }

// leastEncoded is the minimum length of the unambiguous part of a value's base64: a shorter one
// occurs by chance in many texts.
const leastEncoded = 8

// writings returns all forms. What precedes a value in the encoded text shifts its base64 by zero,
// one or two of three characters, and base64 has one alphabet for files and one for URLs.
func (v Values) writings() []writing {
	var all []writing
	for name, value := range v {
		all = append(all, writing{name, value})
		for before := range 3 {
			for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				w := writing{name, certain(encoding, value, before)}
				if len(w.text) >= leastEncoded && !slices.Contains(all, w) {
					all = append(all, w)
				}
			}
		}
	}
	return all
}

// certain returns the part of a value's base64 that does not depend on its surroundings.
func certain(encoding *base64.Encoding, value string, before int) string {
	text := encoding.EncodeToString(append(make([]byte, before), value...))
	first := (before*8 + 5) / 6
	whole := (before + len(value)) * 8 / 6
	if first >= whole {
		return ""
	}
	return text[first:whole]
}

// index finds writings by their first character, because nearly every position of a text begins
// none. It serves one text at a time.
type index struct {
	by      [256][]writing
	firsts  []byte
	longest int // of all writings, in bytes

	disguises []disguise
	loosest   int // the longest disguise
	letters   []byte
	at        []int // buffer for the reduced text
}

func (v Values) index() *index {
	x := &index{}
	for _, w := range v.writings() {
		if w.text == "" {
			continue // it would match everywhere
		}
		x.longest = max(x.longest, len(w.text))
		first := w.text[0]
		if x.by[first] == nil {
			x.firsts = append(x.firsts, first)
		}
		x.by[first] = append(x.by[first], w)
	}
	x.disguises = v.disguises()
	for _, d := range x.disguises {
		x.loosest = max(x.loosest, len(d.text))
	}
	return x
}

// sight is a text that is being searched.
type sight struct {
	*index
	text  string
	loose []span // ordered by their start
}

func (x *index) over(text string) sight { return sight{x, text, x.loosely(text)} }

// near returns the writings that text may begin with, by its first character or by what that
// escapes. text is not empty.
func (x *index) near(text string) []writing {
	if !strings.Contains(`\%&+`, text[:1]) {
		return x.by[text[0]]
	}
	var some []writing
	for _, first := range x.firsts {
		if lengths, open := spellings(text, first); open || len(lengths) > 0 {
			some = append(some, x.by[first]...)
		}
	}
	return some
}
