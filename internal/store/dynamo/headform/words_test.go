package headform

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPackReplacesTheLongestWords compares with replacers of the standard library.
func TestPackReplacesTheLongestWords(t *testing.T) {
	longest := slices.SortedStableFunc(slices.Values(words), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var there, back []string
	for _, word := range longest {
		b := string([]byte{code(slices.Index(words, word))})
		there, back = append(there, word, b), append(back, b, word)
	}
	for b := range 256 {
		if plain := string([]byte{byte(b)}); b < 32 || b >= 128 {
			there, back = append(there, plain, "\x00"+plain), append([]string{"\x00" + plain, plain}, back...)
		}
	}
	shorten, lengthen := strings.NewReplacer(there...), strings.NewReplacer(back...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var text strings.Builder
		for range random.IntN(12) {
			switch word := words[random.IntN(len(words))]; random.IntN(4) {
			case 0:
				text.WriteByte(byte(random.IntN(256)))
			case 1:
				text.WriteString(word[:random.IntN(len(word))])
			default:
				text.WriteString(word)
			}
		}
		packed := Pack(text.String())
		if want := shorten.Replace(text.String()); string(packed) != want || Unpack(packed) != text.String() {
			t.Fatalf("%q is packed as %q, want %q", text.String(), packed, want)
		}
		if raw := text.String(); Unpack([]byte(raw)) != lengthen.Replace(raw) {
			t.Fatalf("%q is unpacked as %q, want %q", raw, Unpack([]byte(raw)), lengthen.Replace(raw))
		}
	}
}
