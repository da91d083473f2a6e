package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// chunk is an event of a stream or a complete answer, which differ in one member only.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   int    `json:"index"`
	Delta   *said  `json:"delta"`
	Message *said  `json:"message"`
	Finish  string `json:"finish_reason"`
}

// said is what a choice adds, or its complete message.
type said struct {
	Content          words     `json:"content"`
	Refusal          words     `json:"refusal"`
	ReasoningContent words     `json:"reasoning_content"`
	Reasoning        words     `json:"reasoning"`
	Calls            []callBit `json:"tool_calls"`
	Function         *function `json:"function_call"` // of endpoints that predate tools
}

type callBit struct {
	Index    *int     `json:"index"`
	ID       words    `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      words           `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// words is a text, byte for byte: endpoints cut texts anywhere, and [encoding/json] would replace
// half a character. A list of pieces becomes the texts in it, and any other value nothing.
type words []byte

// UnmarshalJSON implements [json.Unmarshaler]. It never fails, and ignores values of other types.
func (w *words) UnmarshalJSON(raw []byte) error {
	*w = nil
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0:
	case raw[0] == '"':
		*w = unquote(raw)
	case raw[0] >= '0' && raw[0] <= '9': // an id
		*w = bytes.Clone(raw)
	case raw[0] == '[':
		var pieces []struct {
			Text json.RawMessage `json:"text"`
		}
		if json.Unmarshal(raw, &pieces) == nil {
			// each must be a text: nested lists would be parsed again for each level
			for _, p := range pieces {
				if len(p.Text) > 0 && p.Text[0] == '"' {
					*w = append(*w, unquote(p.Text)...)
				}
			}
		}
	}
	return nil
}

// unquote decodes a JSON string. Half of a surrogate pair becomes three bytes in the style of
// UTF-8, which [joined] combines with the other half.
func unquote(raw []byte) []byte {
	if !bytes.ContainsRune(raw, '\\') {
		return bytes.Clone(raw[1 : len(raw)-1])
	}
	out := make([]byte, 0, len(raw))
	for raw = raw[1 : len(raw)-1]; len(raw) > 0; {
		if raw[0] != '\\' || len(raw) < 2 {
			out, raw = append(out, raw[0]), raw[1:]
			continue
		}
		if raw[1] != 'u' || len(raw) < 6 {
			out, raw = append(out, unescaped(raw[1])), raw[2:]
			continue
		}
		n, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
		out, raw = appendUnit(out, rune(n)), raw[6:]
	}
	return out
}

func unescaped(c byte) byte {
	if i := bytes.IndexByte([]byte("nrtbf"), c); i >= 0 {
		return "\n\r\t\b\f"[i]
	}
	return c
}

// appendUnit appends one UTF-16 unit.
func appendUnit(out []byte, u rune) []byte {
	if u < 0xd800 || u > 0xdfff {
		return utf8.AppendRune(out, u)
	}
	return append(out, 0xe0|byte(u>>12), 0x80|byte(u>>6)&0xbf, 0x80|byte(u)&0xbf)
}

// joined assembles a text from pieces that may be cut anywhere. The results of add and finally of
// end form the text; each result excludes a character that is still incomplete.
type joined struct {
	text, rest []byte
}

func (j *joined) add(piece []byte) string {
	if len(piece) == 0 {
		return ""
	}
	all := pair(append(j.rest, piece...))
	end := len(all) - unfinished(all)
	j.rest = bytes.Clone(all[end:])
	return j.keep(all[:end])
}

func (j *joined) end() string {
	rest := j.rest
	j.rest = nil
	return j.keep(rest)
}

func (j *joined) keep(bits []byte) string {
	whole := bytes.ToValidUTF8(bits, []byte("\ufffd"))
	j.text = append(j.text, whole...)
	return string(whole)
}

// pair combines the halves of surrogate pairs.
func pair(b []byte) []byte {
	out := b[:0:0]
	at := 0 // everything before it is in out
	for i := 0; i+5 < len(b); i++ {
		if b[i] == 0xed && b[i+1]&0xf0 == 0xa0 && b[i+3] == 0xed && b[i+4]&0xf0 == 0xb0 {
			high, low := rune(b[i+1]&0x0f)<<6|rune(b[i+2]&0x3f), rune(b[i+4]&0x0f)<<6|rune(b[i+5]&0x3f)
			out = utf8.AppendRune(append(out, b[at:i]...), 0x10000+high<<10+low)
			at = i + 6
			i += 5
		}
	}
	if at == 0 {
		return b
	}
	return append(out, b[at:]...)
}

// unfinished returns how many bytes at the end may be the start of a character or the first half of
// a pair.
func unfinished(b []byte) int {
	if n := len(b); n >= 3 && b[n-3] == 0xed && b[n-2]&0xf0 == 0xa0 {
		return 3
	}
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// usage records the token usage of an answer; it returns false if the answer has none or an
// implausible one.
func usage(raw json.RawMessage, t *core.Turn) bool {
	var u struct {
		Prompt     json.Number `json:"prompt_tokens"`
		Completion json.Number `json:"completion_tokens"`
		Details    struct {
			Cached json.Number `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if core.IsNull(raw) || json.Unmarshal(raw, &u) != nil || tokens(u.Prompt) == 0 && tokens(u.Completion) == 0 {
		return false
	}
	t.InputTokens, t.OutputTokens = tokens(u.Prompt), tokens(u.Completion)
	t.CacheRead = min(tokens(u.Details.Cached), t.InputTokens)
	return true
}

func tokens(n json.Number) int64 {
	f, err := n.Float64()
	if err != nil || !(f > 0) || f > math.MaxInt64/4 {
		return 0
	}
	return int64(f)
}
