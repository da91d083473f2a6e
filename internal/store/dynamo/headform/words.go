package headform

import (
	"slices"
	"strings"
)

// words are texts that the JSON in heads repeats. Each is stored as one byte, which is its place in
// the list: the list may grow at its end, and never changes otherwise.
var words = []string{
	// of the rest of a head
	`{"round":`, `,"step":`, `,"turn":`, `,"acts":`, `,"res":`, `,"tin":`, `,"tout":`, `,"mt":`, `,"cost":`, `,"prc":true`,
	`,"tc":`, `,"sc":`, `,"rok":`, `,"rf":`, `,"err":`, `,"wr":true`, `,"rnd":["`, `,"aw":`, `,"aws":`, `,"yl":`, `,"ylr":`, `,"cra":`,
	`,"bg":true`, `,"cl":true`, `,"so":true`, `,"to":true`, `,"spk":true`, `,"to` + `ld":true`, `,"usr":`, `,"snap":`, `,"delt":`,
	`,"narrow":{"`, `,"grants":["`, `,"nomem":true`, `,"retry_of":"run_`, `,"meta":{"`, `,"ntf":"`, `,"held":[{"s":`, `,"k":"m:`,
	`,"kept":true`, `,"mo":{"s":`, `,"u":`, `,"rs":"`, `,"fin":"`, `,"as":"`,
	// of a family
	`,"pa":{"t":"`, `","r":"`, `","s":"`, `","c":"`, `","d":`, `,"m":`, `,"f":true`, `,"chn":`, `,"alw":`, `,"bel":{"n":`, `,"i":`, `,"o":`, `,"c":`,
	`,"u":true`,
	// of the outbox
	`,"out":{"`, `l:sus_`, `c:sus_`, `i:sus_`, `r:sus_`, `_":{"k":"`, `launch`, `cancel`, `interrupt`, `continue`, `"p":{"k":"`, `tell`,
	`"n":{"k":"notices","e":`, `,"q":`, `"memory":{"k":"memory"`, `,"sus":"sus_`, `,"i":"sus_`,
	// of a call
	`{"kind":"approval"`, `{"kind":"client"`, `{"kind":"input"`, `{"kind":"unknown_outcome"`, `{"kind":"interrupt"`, `{"kind":"child"`,
	`,"mode":"use_decision_as_tool_result"`, `,"mode":"pass_decision_to_tool"`, `,"dl":`, `,"dec":"`, `,"n":`, `,"bad":`, `,"ref":`, `,"rm":`,
	`,"g":true`, `,"abv":"sus_`, `,"at":`, `,"r":`, `,"ie":`, `,"rdy":`, `,"ag":true`, `,"ok":true`, `,"pass":"sus_`, `,"ed":"sus_`,
	`,"gr":"`, `,"ask":"`, `,"lift":"`, `,"gd":true`, `,"hold":"`, `,"ct":true`, `,"pl":true`, `,"ps":true`, `,"f":`,
	// of any of them
	`toolu_01`, `toolu_bdrk_01`, `call_`, `":"`, `":{"`, `"}}`, `"}`, `}}`, `"]`, `00000`,
}

// code is the byte that stands for a word. No text in UTF-8 JSON has the first 31 or, on their own,
// the others; a byte of a text that is one of them follows a zero.
func code(word int) byte {
	if word < 128 {
		return byte(128 + word)
	}
	return byte(word - 127)
}

var shorten, lengthen = replacers()

func replacers() (there, back *strings.Replacer) {
	var pairs, reverse []string
	for i, word := range words {
		pairs = append(pairs, word, string([]byte{code(i)}))
	}
	// a replacer takes the first of its texts that fits: let that be the longest
	longest := slices.Collect(slices.Chunk(pairs, 2))
	slices.SortStableFunc(longest, func(a, b []string) int { return len(b[0]) - len(a[0]) })
	pairs = slices.Concat(longest...)
	for b := range 256 {
		if plain := string([]byte{byte(b)}); b < 32 || b >= 128 {
			pairs = append(pairs, plain, "\x00"+plain)
			reverse = append(reverse, "\x00"+plain, plain)
		}
	}
	for i, word := range words {
		reverse = append(reverse, string([]byte{code(i)}), word)
	}
	return strings.NewReplacer(pairs...), strings.NewReplacer(reverse...)
}

// Pack is JSON in fewer bytes.
func Pack(json string) []byte { return []byte(shorten.Replace(json)) }

// Unpack reverses [Pack].
func Unpack(packed []byte) string { return lengthen.Replace(string(packed)) }
