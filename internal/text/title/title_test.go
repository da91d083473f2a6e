package title_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/title"
)

func text(parts []title.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Argument != "" {
			b.WriteString("[" + p.Text + "]")
			continue
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

func TestATitleShowsItsValues(t *testing.T) {
	for _, c := range []struct{ title, arguments, want string }{
		{"Refund {amount} {currency} for {order}?", `{"amount":120.50,"currency":"EUR","order":"A-17","note":"x\u200by"}`, "Refund [120.50] [EUR] for [A-17]?"},
		{"Archive {name}, for ever {always}?", `{"name":"Müller","always":true}`, "Archive [Müller], for ever [Yes (true)]?"},
		{"Close {{it}}?", `{}`, "Close {it}?"},
		{"Pay {to}?", `{"to":"anna@example.com"}`, "Pay [anna@example.com]?"},
		{"Pay {to}?", `{"to":"דנה"}`, "Pay [דנה]?"},
	} {
		if got := text(title.Fill(title.Parts(c.title), []byte(c.arguments))); got != c.want {
			t.Errorf("%s with %s is %q", c.title, c.arguments, got)
		}
	}
}

// Each of these values would change what the title says, or what a reader takes it to say.
func TestAValueThatMayMisleadLeavesNoTitle(t *testing.T) {
	for name, arguments := range map[string]string{
		"missing":           `{"b":1}`,
		"null":              `{"a":null}`,
		"empty":             `{"a":""}`,
		"a list":            `{"a":[1]}`,
		"an object":         `{"a":{"b":1}}`,
		"long":              `{"a":"` + strings.Repeat("x", 41) + `"}`,
		"two lines":         `{"a":"x\ny"}`,
		"reordering":        `{"a":"x\u202ey"}`,
		"an isolate":        `{"a":"x\u2067y"}`,
		"an end of isolate": `{"a":"x\u2069y"}`,
		"right-to-left":     `{"a":"אבג 100 דהו 9000 EUR"}`,
		"without width":     `{"a":"1\u200b0"}`,
		"a soft hyphen":     `{"a":"1\u00ad0"}`,
		"a byte order mark": `{"a":"1\ufeff0"}`,
		"a filler":          `{"a":"1\u31640"}`,
		"mixed letters":     `{"a":"Pаypаl"}`,
		"look-alikes":       `{"a":"аррӏе"}`,
		"blanks":            `{"a":"5     EUR"}`,
		"blanks only":       `{"a":"   "}`,
		"a blank at an end": `{"a":" x"}`,
		"accents":           `{"a":"a` + strings.Repeat(`\u0301`, 40) + `"}`,
		"a bell":            `{"a":"x\u0007"}`,
		"a terminal's":      `{"a":"\u001b[31mx"}`,
		"a tag":             `{"a":"x\udb40\udc41"}`,
		"a lone surrogate":  `{"a":"x\ud800"}`,
		"huge":              `{"a":1e21}`,
		"many digits":       `{"a":12345678901234567890}`,
		"check digits":      `{"a":"GB33BUKB20201555555556"}`,
		"a user's host":     `{"a":"https://bank.example@evil.example/"}`,
		"twice":             `{"a":5,"a":9000}`,
		"a name like it":    `{"a":5,"а":9000}`,
		"other names twice": `{"a":5,"b":1,"b":2}`,
		"not JSON":          `{"a":5`,
		"not an object":     `[5]`,
		"nothing":           ``,
	} {
		if got := title.Fill(title.Parts("Pay {a}?"), []byte(arguments)); got != nil {
			t.Errorf("%s: %q", name, text(got))
		}
	}
}

// Whatever hostile values there are, a title holds them only as they are, in parts of their own.
func TestTheCorpusOfHostileValuesInTitles(t *testing.T) {
	file, err := os.ReadFile("../printable/testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		var specimen struct {
			Name, Raw string
			Warns     []string
		}
		if err := json.Unmarshal([]byte(line), &specimen); err != nil {
			t.Fatal(err)
		}
		if parts := check(t, specimen.Raw); parts != nil && len(specimen.Warns) > 0 {
			t.Errorf("%s, which has a warning, is in the title %q", specimen.Name, text(parts))
		}
	}
}

func FuzzFill(f *testing.F) {
	f.Add("A-17")
	f.Add("אבג 100 דהו")
	f.Fuzz(func(t *testing.T, value string) { check(t, string(core.Encode(value))) })
}

func check(t *testing.T, value string) []title.Part {
	t.Helper()
	parts := title.Fill(title.Parts("Pay {a}?"), []byte(`{"a":`+value+`}`))
	if parts == nil {
		return nil
	}
	if len(parts) != 3 || parts[0].Text != "Pay " || parts[1].Argument != "a" || parts[2].Text != "?" {
		t.Fatalf("%q changes the words of the title: %q", value, parts)
	}
	for _, r := range parts[1].Text {
		if r < ' ' || r == 0x7f || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Fatalf("%q is shown with %U", value, r)
		}
	}
	return parts
}

func TestTitlesThatAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"empty": " ", "a brace": "Pay {amount", "a secret": "Pay {secret:KEY}?", "long": strings.Repeat("x", 121), "a line": "Pay\n{amount}?",
		"reordering": "Pay \u202e{amount}?", "no width": "Pay\u200b {amount}?", "a name with blanks": "Pay {the amount}?",
	} {
		if _, err := title.Read(text); err == nil {
			t.Errorf("%s: %q is taken", name, text)
		}
	}
}
