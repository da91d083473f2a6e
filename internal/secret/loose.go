package secret

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"slices"
)

// Values are also found if only their letters and digits are unchanged: in another case, with
// separators (B-e-a-r-e-r), reversed, and in hexadecimal. For that, text and value are reduced to
// lower-case letters and digits and compared.

const (
	// leastLoose is the minimum number of letters and digits of a value that is searched for in
	// this way: fewer occur by chance in many texts.
	leastLoose = 8

	// mostBetween limits the bytes between two of them.
	mostBetween = 16
)

// disguise is a reduced value. head and tail are what the value has before its first letter or
// digit and after its last one.
type disguise struct {
	name       string
	text       []byte
	head, tail string
}

// span is the place of a value in a text.
type span struct {
	from, to int
	name     string
}

// reduced maps letters and digits to lower case and everything else to 0.
var reduced = func() (to [256]byte) {
	for c := range to {
		switch b := byte(c); {
		case '0' <= b && b <= '9', 'a' <= b && b <= 'z':
			to[c] = b
		case 'A' <= b && b <= 'Z':
			to[c] = b | 0x20
		}
	}
	return to
}()

// reduce appends the letters and digits of text to letters.
func reduce(letters []byte, text string) []byte {
	for i := range len(text) {
		if c := reduced[text[i]]; c != 0 {
			letters = append(letters, c)
		}
	}
	return letters
}

// places returns the positions of the letters and digits of text.
func places(text string) (at []int) {
	for i := range len(text) {
		if reduced[text[i]] != 0 {
			at = append(at, i)
		}
	}
	return at
}

// disguises returns the reduced form of all values that are long enough.
func (v Values) disguises() []disguise {
	var all []disguise
	for name, value := range v {
		letters := reduce(nil, value)
		if len(letters) < leastLoose {
			continue
		}
		at := places(value)
		backwards := slices.Clone(letters)
		slices.Reverse(backwards)
		all = append(all, disguise{name, letters, value[:at[0]], value[at[len(at)-1]+1:]}, disguise{name: name, text: hex.AppendEncode(nil, []byte(value))})
		if !bytes.Equal(backwards, letters) {
			all = append(all, disguise{name: name, text: backwards})
		}
	}
	return all
}

// loosely returns the places of disguised values, ordered by their start.
func (x *index) loosely(text string) []span {
	if len(x.disguises) == 0 || len(text) < leastLoose {
		return nil
	}
	letters := reduce(x.letters[:0], text)
	x.letters = letters
	var at []int
	var found []span
	for _, d := range x.disguises {
		for from := 0; ; from++ {
			i := bytes.Index(letters[from:], d.text)
			if i < 0 {
				break
			}
			if at == nil {
				at = places(text)
			}
			from += i
			if s, ok := d.span(text, at[from:from+len(d.text)]); ok {
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(b.name, a.name))
	})
	return found
}

// span returns the place of the value whose letters are at these positions, extended by its head
// and tail. It returns false if the letters are too far apart.
func (d disguise) span(text string, at []int) (span, bool) {
	if !contiguous(at) {
		return span{}, false
	}
	to := at[len(at)-1] + 1
	return span{d.headed(text, at[0]), to + beginning(text[to:], d.tail), d.name}, true
}

// headed returns where the head that ends at a position begins, however it is spelled; without a
// head, it returns the position itself.
func (d disguise) headed(text string, at int) int {
	if d.head == "" {
		return at
	}
	for from := max(0, at-len(d.head)*longestSpelling); from < at; from++ {
		if length, _ := spelled(text[from:at], d.head); length == at-from {
			return from
		}
	}
	return at
}

// beginning returns how many bytes at the start of text spell a prefix of value.
func beginning(text, value string) (longest int) {
	for n := 1; n <= len(value) && longest < len(text); n++ {
		length, _ := spelled(text, value[:n])
		if length == 0 {
			break
		}
		longest = length
	}
	return longest
}

// contiguous reports whether no two neighbours are more than [mostBetween] bytes apart.
func contiguous(at []int) bool {
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] > mostBetween+1 {
			return false
		}
	}
	return true
}

// begun returns where, at the end of text, a disguised value may begin that continues after it;
// without one, it returns the length of text.
func (x *index) begun(text string) int {
	first := max(0, len(text)-(x.loosest+1)*(mostBetween+1))
	at, letters := x.at[:0], x.letters[:0]
	for i := first; i < len(text); i++ {
		if c := reduced[text[i]]; c != 0 {
			at, letters = append(at, i), append(letters, c)
		}
	}
	x.at, x.letters = at, letters
	cut := len(text)
	for k := range x.disguises {
		d := &x.disguises[k]
		for i := max(0, len(letters)-len(d.text)); i < len(letters); i++ {
			if letters[i] == d.text[0] && d.open(text, letters[i:], at[i:]) {
				cut = min(cut, d.headed(text, at[i]))
				break
			}
		}
	}
	return cut
}

// open reports whether more text could complete or extend a value whose letters are at the end of
// text.
func (d disguise) open(text string, letters []byte, at []int) bool {
	if !bytes.HasPrefix(d.text, letters) || !contiguous(at) {
		return false
	}
	rest := text[at[len(at)-1]+1:]
	if len(letters) < len(d.text) {
		return len(rest) <= mostBetween
	}
	if rest == "" || d.tail == "" {
		return d.tail != ""
	}
	_, open := spelled(rest, d.tail)
	return open
}
