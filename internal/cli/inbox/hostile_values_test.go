package inbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/narrate"
)

// TestNothingATerminalCouldReorderReachesIt asks about every value of the corpus, as a value, a
// name and a reason, and reads all that a terminal is sent for it: the list, the inbox, the events,
// the differences of edited arguments and JSON.
func TestNothingATerminalCouldReorderReachesIt(t *testing.T) {
	file, err := os.ReadFile("../../text/printable/testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(file)) {
		var s struct{ Name, Raw string }
		if err := json.Unmarshal([]byte(l), &s); err != nil {
			t.Fatal(err)
		}
		for what, shown := range drawnEverywhere(s.Raw) {
			for _, r := range shown {
				if unicode.IsLetter(r) && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam, unicode.Phoenician) {
					t.Errorf("%s: %s sends %q, which is written from right to left: %q", s.Name, what, r, shown)
					break
				}
			}
			holdsNothingHidden(t, strings.ReplaceAll(shown, "\n", ""))
		}
	}
}

// drawnEverywhere is what the terminal is sent about arguments that hold raw.
func drawnEverywhere(raw string) map[string]string {
	var words string
	name := `"k"`
	if json.Unmarshal([]byte(raw), &words) == nil && strings.HasPrefix(raw, `"`) {
		name = raw
	}
	p := wire.Pending{CallID: "c1", Tool: cmp.Or(words, "pay"), Kind: "approval", Arguments: json.RawMessage(`{"x":` + raw + `,"y":{` + name + `:1}}`),
		Suspension: wire.Suspension{ID: "sus_1", Message: words}, Requests: []wire.Request{{Text: words, By: words, Via: words}, {Text: words}}, Said: words, GrantScope: words,
		ToolDetails: &wire.ToolDetails{Description: words, Kind: "http", Target: words}, Preview: &wire.Preview{Text: words}}
	var out bytes.Buffer
	a := &app{&cmdline.App{Stdout: &out, Opts: cmdline.Options{Getenv: func(string) string { return "" }}}}
	drawn := map[string]string{}
	take := func(what string, err error) {
		if err == nil {
			drawn[what] = out.String()
		}
		out.Reset()
	}
	take("the list", a.Table(a.PendingRows("run_1", "desk", p)))
	take("what is edited", a.printEdits(waiting{Pending: p}, json.RawMessage(`{"x":0}`)))
	drawn["JSON"] = display.CleanJSON(p.Arguments)
	drawn["one line"] = display.InWords(p.Arguments)
	for _, l := range details(wire.Approval{RunID: "run_1", Agent: "desk", Metadata: p.Arguments, StartedBy: &wire.Actor{By: words}, Pending: p}, nil, began) {
		drawn["the inbox"] += l.String() + "\n"
	}
	event, _ := json.Marshal(map[string]any{"tool_name": p.Tool, "call_id": "c1", "arguments": p.Arguments, "reason": words, "action": "cancel"})
	for _, kind := range []string{"call.ready", "decision.recorded"} {
		e := wire.Event{Type: kind, Data: event}
		for _, l := range narrate.NewTale(a.Now).Tell(e) {
			drawn[kind] += l.String() + "\n"
		}
	}
	return drawn
}

func TestWhatIsApprovedReadsAsWhatRuns(t *testing.T) {
	for raw, want := range map[string]string{
		`{"to":"\u004d\u0061llory"}`:                           `waits for  approval of pay {"to":"Mallory"}`,
		"{\"to\":\"P\u0430ypal\"}":                             "with       to: P<U+0430 Cyrillic \u0430>ypal",
		"{\"א\":\"50, 70\"}":                                   `with       "<from right to left: U+05D0>": 50, 70`,
		`{"n":0.00000000000000000120e20}`:                      "! Written with a power of ten. In full it is 120.",
		`{"to":"Ann` + strings.Repeat(" ", 66) + `amount: 5"}`: "with       to: Ann<66 blanks>amount: 5",
	} {
		var out bytes.Buffer
		a := &app{&cmdline.App{Stdout: &out, Opts: cmdline.Options{Getenv: func(string) string { return "" }}}}
		p := wire.Pending{Tool: "pay", Kind: "approval", Arguments: json.RawMessage(raw), Suspension: wire.Suspension{ID: "sus_1"}}
		if err := a.Table(a.PendingRows("run_1", "desk", p)); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v; no %q in\n%s", err, want, out.String())
		}
	}
}
