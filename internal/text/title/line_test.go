package title_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
	"github.com/dormouse-dev/dormouse/internal/text/title"
)

func TestATitleOnALineSetsItsValuesOff(t *testing.T) {
	for _, tt := range []struct {
		parts []title.Part
		want  string
	}{
		{nil, ""},
		{[]title.Part{{Text: "Restart the server?"}}, "Restart the server?"},
		{[]title.Part{{Text: "Refund "}, {"120.50", "amount"}, {Text: " for "}, {"A-17", "order"}, {Text: "?"}}, `Refund 120.50 for "A-17"?`},
		{[]title.Part{{Text: "Refund "}, {"5? Yes. Also 900", "amount"}, {Text: "?"}}, `Refund "5? Yes. Also 900"?`},
		{[]title.Part{{Text: "Pay "}, {`Ann" and "Bert`, "to"}, {Text: "?"}}, `Pay "Ann\" and \"Bert"?`},
		{[]title.Part{{Text: "Delete it: "}, {"Yes (true)", "sure"}}, `Delete it: "Yes (true)"`},
	} {
		if got := title.Line(tt.parts); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// Fill lets none of these through. Should one come from elsewhere, it stays within its quotes.
func TestHostileValuesStayWithinTheirQuotes(t *testing.T) {
	file, err := os.ReadFile("../printable/testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(file)) {
		var specimen struct{ Name, Raw string }
		var value string
		if json.Unmarshal([]byte(line), &specimen) != nil || json.Unmarshal([]byte(specimen.Raw), &value) != nil || strings.Trim(value, "0123456789.-") == "" {
			continue
		}
		n++
		got := title.Line([]title.Part{{Text: "Pay "}, {value, "to"}, {Text: " now?"}})
		inside, ok := strings.CutPrefix(got, "Pay ")
		inside, too := strings.CutSuffix(inside, " now?")
		if _, err := strconv.Unquote(inside); !ok || !too || err != nil && !strings.Contains(inside, "<U+") || printable.Text(got) != got || strings.ContainsAny(got, "\n\r\u202e\u200b") {
			t.Errorf("%s: %q", specimen.Name, got)
		}
		if strings.Contains(strings.ReplaceAll(inside[1:max(1, len(inside)-1)], `\"`, ""), `"`) {
			t.Errorf("%s ends its quotes: %q", specimen.Name, got)
		}
	}
	if n < 50 {
		t.Errorf("%d specimens", n)
	}
}
