package headform

import (
	"slices"
	"strings"
	"sync"
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

// byFirst are the words that begin with a byte, the longest first. It is built at the first head: a
// function would pay for it at each cold start otherwise.
var byFirst = sync.OnceValue(func() *[256][]int {
	var all [256][]int
	for i, word := range words {
		all[word[0]] = append(all[word[0]], i)
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b int) int { return len(words[b]) - len(words[a]) })
	}
	return &all
})

// Pack is JSON in fewer bytes.
func Pack(json string) []byte {
	first := byFirst()
	packed := make([]byte, 0, len(json))
	for i := 0; i < len(json); {
		b, n := json[i], 1
		word := slices.IndexFunc(first[b], func(w int) bool { return strings.HasPrefix(json[i:], words[w]) })
		switch {
		case word >= 0:
			packed = append(packed, code(first[b][word]))
			n = len(words[first[b][word]])
		case b < 32 || b >= 128:
			packed = append(packed, 0, b)
		default:
			packed = append(packed, b)
		}
		i += n
	}
	return packed
}

// Unpack reverses [Pack].
func Unpack(packed []byte) string {
	json := make([]byte, 0, 3*len(packed))
	for i := 0; i < len(packed); i++ {
		b := packed[i]
		word := wordOf(b)
		switch {
		case b == 0 && i+1 < len(packed) && (packed[i+1] < 32 || packed[i+1] >= 128):
			i++
			json = append(json, packed[i])
		case word >= 0 && word < len(words):
			json = append(json, words[word]...)
		default:
			json = append(json, b)
		}
	}
	return string(json)
}

// wordOf reverses [code]; it is negative for a byte that stands for no word.
func wordOf(b byte) int {
	switch {
	case b >= 128:
		return int(b) - 128
	case b >= 1 && b < 32:
		return int(b) + 127
	}
	return -1
}
