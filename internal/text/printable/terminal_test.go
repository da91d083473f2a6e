package printable_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

var marked = regexp.MustCompile(`<(?:from right to left: ((?:U\+[0-9A-F]+ ?)+)|(?:([0-9]+) times )?U\+([0-9A-F]+)[^<>]*|(?:([0-9]+) times )?byte ([0-9A-F]{2})|(?:([0-9]+) )?(blank|tab)s?|(line break))>`)

// stripped reads a line of a terminal back. It shares nothing with what wrote it.
func stripped(line string) string {
	return marked.ReplaceAllStringFunc(line, func(mark string) string {
		m := marked.FindStringSubmatch(mark)
		switch {
		case m[1] != "":
			var b strings.Builder
			for code := range strings.FieldsSeq(m[1]) {
				b.WriteString(named(code[2:]))
			}
			return b.String()
		case m[3] != "":
			return strings.Repeat(named(m[3]), times(m[2]))
		case m[5] != "":
			n, _ := strconv.ParseUint(m[5], 16, 8)
			return strings.Repeat(string([]byte{byte(n)}), times(m[4]))
		case m[8] != "":
			return "\n"
		}
		return strings.Repeat(map[string]string{"blank": " ", "tab": "\t"}[m[7]], times(m[6]))
	})
}

func named(hex string) string {
	n, _ := strconv.ParseUint(hex, 16, 32)
	if n >= 0xd800 && n <= 0xdfff {
		return string([]byte{0xed, 0x80 | byte(n>>6)&0x3f, 0x80 | byte(n)&0x3f})
	}
	return string(rune(n))
}

func times(count string) int {
	if n, err := strconv.Atoi(count); err == nil {
		return n
	}
	return 1
}

func TestArgumentsAreRowsOnATerminal(t *testing.T) {
	const raw = `{"amount":50,"\u05d7":"\u05e1: 50, 70","to":"\u004d\u0061llory","card":{"number":"4111","cvv":null},"items":[{"sku":"A"},true],
		"body":"one\n- approved: yes","a b":"","\u202ex\"":1,"list":[],"object":{}}`
	want := []printable.TerminalRow{
		{First: "amount: 50"},
		{First: `"<from right to left: U+05D7>": <from right to left: U+05E1>: 50, 70`,
			Warnings: []string{"Mixes writing from right to left and from left to right, so that it is not read in the order in which the tool gets it."}},
		{First: "to: Mallory"},
		{First: "card.number: 4111  (text, not a number)"},
		{First: "card.cvv: <nothing (null)>"},
		{First: "items[1].sku: A"},
		{First: "items[2]: <Yes (true)>"},
		{First: "body: <2 lines>", Further: []string{"| one", "| - approved: yes"}},
		{First: `"a b": <empty text>`},
		{First: `"<U+202E>x<U+0022>": 1`, Warnings: []string{"Has characters that do not show or change how others show. They are written as their numbers."}},
		{First: "list: <nothing in it (empty list)>"},
		{First: "object: <nothing in it (empty object)>"},
	}
	if diff := cmp.Diff(want, printable.TerminalRows([]byte(raw))); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
