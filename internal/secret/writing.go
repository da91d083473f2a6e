package secret

import (
	"encoding/base64"
	"slices"
	"strings"
)

// writing is a way in which a value is written: as it is, or within what somebody encoded as
// base64.
type writing struct{ name, text string }

// leastEncoded is how long the certain part of a value's base64 must be to be looked for: less
// stands in many a text by chance.
const leastEncoded = 8

// writings are all of them. What stands before a value in the encoded text moves its base64 by
// none, one or two characters of three, and each has an alphabet of files and one of URLs.
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

// certain is the part of a value's base64 that does not depend on what stands before and behind it.
func certain(encoding *base64.Encoding, value string, before int) string {
	text := encoding.EncodeToString(append(make([]byte, before), value...))
	first := (before*8 + 5) / 6
	whole := (before + len(value)) * 8 / 6
	if first >= whole {
		return ""
	}
	return text[first:whole]
}

// index belongs to one text at a time. It finds writings by their first character, as nearly every
// place of a text begins none of them.
type index struct {
	by      [256][]writing
	firsts  []byte
	longest int // of all writings, in bytes

	disguises []disguise
	loosest   int // the longest disguise
	letters   []byte
	at        []int // room for what the last text was reduced to
}

func (v Values) index() *index {
	x := &index{}
	for _, w := range v.writings() {
		if w.text == "" {
			continue // it would stand everywhere
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

// sight is a text that is looked through.
type sight struct {
	*index
	text  string
	loose []span // by their beginning
}

func (x *index) over(text string) sight { return sight{x, text, x.loosely(text)} }

// near are the writings that text may begin with, by its first character or by what that is an
// escape of. Text is not empty.
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
