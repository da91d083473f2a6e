package inbox

import (
	"bytes"
	"unicode/utf8"
)

// key is what a person pressed: a character, or the name of a key that has none.
type key struct {
	char   rune   // 0 for a named key
	name   string // "up", "enter", ...
	pasted bool   // it came with text that was pasted
}

// sequences are what terminals send for keys that have no character.
var sequences = []struct{ bytes, name string }{
	{"\x1b[A", "up"}, {"\x1bOA", "up"}, {"\x1b[B", "down"}, {"\x1bOB", "down"}, {"\x1b[5~", "pageup"}, {"\x1b[6~", "pagedown"},
	{"\x1b[H", "home"}, {"\x1bOH", "home"}, {"\x1b[1~", "home"}, {"\x1b[F", "end"}, {"\x1bOF", "end"}, {"\x1b[4~", "end"},
	{"\x1b[200~", "paste"}, {"\x1b[201~", "pasted"},
}

var controls = map[byte]string{'\r': "enter", '\n': "enter", 0x7f: "back", 0x08: "back", 0x03: "interrupt", 0x04: "interrupt", 0x15: "clear", 0x1b: "escape"}

// keyboard turns what a terminal sends into keys. It keeps what is cut off in the middle of a
// character until the rest comes.
type keyboard struct {
	rest    []byte
	pasting bool
}

func (k *keyboard) read(sent []byte) (keys []key) {
	in := append(k.rest, sent...)
	k.rest = nil
	for len(in) > 0 {
		if !utf8.FullRune(in) {
			k.rest = bytes.Clone(in)
			return keys
		}
		name, size := k.named(in)
		in = in[size:]
		switch {
		case name == "paste" || name == "pasted":
			k.pasting = name == "paste"
		case name != "":
			keys = append(keys, key{name: name, pasted: k.pasting})
		case size == 0:
			r, n := utf8.DecodeRune(in)
			in = in[n:]
			if r >= ' ' && (r != utf8.RuneError || n > 1) {
				keys = append(keys, key{char: r, pasted: k.pasting})
			}
		}
	}
	return keys
}

// named is the key without a character at the beginning of what was sent, and how long it is there.
// A sequence that is not known is passed over whole, so that its last character is not taken for a
// key.
func (k *keyboard) named(in []byte) (name string, size int) {
	for _, s := range sequences {
		if bytes.HasPrefix(in, []byte(s.bytes)) {
			return s.name, len(s.bytes)
		}
	}
	if in[0] == 0x1b && len(in) > 1 && (in[1] == '[' || in[1] == 'O') {
		for size = 2; size < len(in); size++ {
			if in[size] == 0x1b {
				return "", size // another one begins
			}
			if in[size] >= 0x40 && in[size] <= 0x7e {
				return "", size + 1
			}
		}
		return "", size
	}
	if name := controls[in[0]]; name != "" {
		return name, 1
	}
	return "", 0
}
