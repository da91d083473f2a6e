package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

var began = time.Date(2026, 11, 21, 2, 28, 44, 0, time.UTC)

// waits is a call that waits, of run r and with suspension s and a number.
func waits(n int, kind string) wire.Approval {
	return wire.Approval{RunID: fmt.Sprintf("run_%d", n), Agent: "refund-desk", Pending: wire.Pending{Since: wire.Time{Time: began},
		CallID: "c1", Tool: "pay", Kind: kind, Arguments: json.RawMessage(fmt.Sprintf(`{"order":"A-%d","amount":120}`, n)),
		Suspension: wire.Suspension{ID: fmt.Sprintf("sus_%d", n), Message: "Above 100 a person is asked."}}}
}

// person walks through an inbox of 80 by 24, a second between the keys, and it is drawn after each
// of them.
type person struct {
	t     *testing.T
	inbox *inbox
	now   time.Time
	board keyboard
}

func walks(t *testing.T, items ...wire.Approval) *person {
	t.Helper()
	p := &person{t: t, inbox: &inbox{program: "desk", now: began}, now: began}
	p.inbox.resize(80, 24)
	p.inbox.news(items, false)
	return p
}

// types presses keys and returns what the last one led to.
func (p *person) types(keys string) (last want) {
	p.t.Helper()
	for _, k := range p.board.read([]byte(keys)) {
		p.now = p.now.Add(time.Second)
		last = p.inbox.press(k, p.now)
		p.draws()
	}
	return last
}

// draws is what the terminal shows of the view: as many of its last lines as there is room for.
func (p *person) draws() string {
	p.t.Helper()
	w := walker{inbox: *p.inbox, now: func() time.Time { return p.now }}
	var shown strings.Builder
	w.out = &shown
	if err := w.draw(); err != nil {
		p.t.Fatal(err)
	}
	*p.inbox = w.inbox
	return shown.String()
}

func (p *person) screen() string {
	var b strings.Builder
	for _, l := range p.inbox.view() {
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return b.String()
}

func (p *person) sees(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		if screen := p.screen(); !strings.Contains(screen, want) {
			p.t.Errorf("%q is not on the screen:\n%s", want, screen)
		}
	}
}

const (
	keyDown, keyUp, keyEnter, keyEscape = "\x1b[B", "\x1b[A", "\r", "\x1b"
)

func TestInboxAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, keys string
		want       wire.Decision
	}{
		"approve from the list":        {"approval", "jyy", wire.Decision{Action: "resume"}},
		"approve from the details":     {"approval", keyDown + keyEnter + "yy", wire.Decision{Action: "resume"}},
		"deny with a reason":           {"approval", "jntoo  much" + keyEnter, wire.Decision{Action: "cancel", Reason: "too  much"}},
		"deny without a reason":        {"approval", "jn" + keyEnter, wire.Decision{Action: "cancel"}},
		"a reason that was mistyped":   {"approval", "jnab\x7fc\x15no" + keyEnter, wire.Decision{Action: "cancel", Reason: "no"}},
		"a result":                     {"client", `jr{"t":21}` + keyEnter, wire.Decision{Result: json.RawMessage(`{"t":21}`)}},
		"a result after a mistake":     {"input", `jrblue` + keyEnter + "\x15" + `"blue"` + keyEnter, wire.Decision{Result: json.RawMessage(`"blue"`)}},
		"a result that was pasted":     {"client", "jr\x1b[200~{\r\"y\":1}\x1b[201~" + keyEnter, wire.Decision{Result: json.RawMessage(`{ "y":1}`)}},
		"an error":                     {"client", "jxno such city" + keyEnter, wire.Decision{Error: "no such city"}},
		"it happened":                  {"unknown_outcome", `jr{"paid":1}` + keyEnter, wire.Decision{Result: json.RawMessage(`{"paid":1}`)}},
		"it did not happen":            {"unknown_outcome", "jyy", wire.Decision{Action: "resume"}},
		"leave it":                     {"unknown_outcome", "jn" + keyEnter, wire.Decision{Action: "cancel"}},
		"a no that was thought better": {"approval", "jnno" + keyEscape + "yy", wire.Decision{Action: "resume"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := walks(t, waits(1, tt.kind), waits(2, tt.kind))
			if got := p.types(tt.keys); got != sendDraft {
				t.Fatalf("the keys lead to %d\n%s", got, p.screen())
			}
			tt.want.Target = "sus_1"
			if diff := cmp.Diff(tt.want, p.inbox.draft); diff != "" || p.inbox.item.RunID != "run_1" {
				t.Errorf("run %s, decision (-want +got):\n%s", p.inbox.item.RunID, diff)
			}
			if got := p.types("yyy" + keyEnter); got != nothing {
				t.Errorf("keys while it is sent lead to %d", got)
			}
		})
	}
}

func TestInboxSendsNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, keys, sees string
	}{
		"with no row chosen":                      {"approval", "yy", "Select a call first"},
		"after one y":                             {"approval", "jy", "Approve pay of run run_1 (sus_1)?"},
		"when the question is not answered by y":  {"approval", "jyq", "Nothing was sent."},
		"for keys that were pasted":               {"approval", "j\x1b[200~yyy\x1b[201~", "1 waiting call"},
		"for a result of an approval":             {"approval", "jr", "This key does nothing here."},
		"for a yes to a client's result":          {"client", "jyy", "This key does nothing here."},
		"for what is no JSON":                     {"client", "jrblue" + keyEnter, "This is not JSON."},
		"for an error without words":              {"client", "jx " + keyEnter, "Describe the error"},
		"when a field is left":                    {"approval", "jnno" + keyEscape, "Nothing was sent."},
		"for an arrow that is none of ours, or y": {"approval", "j\x1b[1;5y", "1 waiting call"},
	} {
		t.Run(name, func(t *testing.T) {
			p := walks(t, waits(1, tt.kind))
			if got := p.types(tt.keys); got != nothing {
				t.Errorf("the keys lead to %d", got)
			}
			p.sees(tt.sees)
		})
	}
}

func TestInboxTakesAKeyThatIsHeldDownForNoAnswer(t *testing.T) {
	p := walks(t, waits(1, "approval"))
	p.types("j")
	for range 100 {
		p.now = p.now.Add(30 * time.Millisecond)
		if got := p.inbox.press(key{char: 'y'}, p.now); got != nothing {
			t.Fatalf("it leads to %d", got)
		}
		p.draws()
	}
	p.sees("That was quick.")
	if p.types("y") != sendDraft {
		t.Error("a y after a pause is no answer")
	}
}

func TestInboxApprovesOnlyWhatWasShownToItsEnd(t *testing.T) {
	long := waits(1, "approval")
	var members []string
	for i := range 60 {
		members = append(members, fmt.Sprintf(`"m%d":%d`, i, i))
	}
	long.Arguments = json.RawMessage("{" + strings.Join(members, ",") + "}")
	p := walks(t, long)
	if p.types("jyy") != nothing {
		t.Error("it was approved unseen")
	}
	p.sees("There is more below.")
	seen := p.screen()
	for range 5 {
		p.types(" ")
		seen += p.screen()
	}
	for i := range 60 {
		if !strings.Contains(seen, fmt.Sprintf("  m%d: %d\n", i, i)) {
			t.Errorf("m%d was never shown", i)
		}
	}
	if p.types("y") != sendDraft {
		t.Errorf("it cannot be approved:\n%s", p.screen())
	}
}

func TestInboxAnswersWhatIsShownWhateverMovesMeanwhile(t *testing.T) {
	one, two, three := waits(1, "approval"), waits(2, "approval"), waits(3, "approval")
	t.Run("rows move while the question stands", func(t *testing.T) {
		p := walks(t, one, two, three)
		p.types("jjy")
		p.inbox.news([]wire.Approval{three, two}, false)
		p.sees("(sus_2)?")
		if p.types("y") != sendDraft || p.inbox.draft.Target != "sus_2" || p.inbox.item.RunID != "run_2" {
			t.Errorf("sent %+v of %s", p.inbox.draft, p.inbox.item.RunID)
		}
	})
	t.Run("the row follows its call", func(t *testing.T) {
		p := walks(t, one, two, three)
		p.types("jj")
		p.inbox.news([]wire.Approval{two, three}, false)
		p.types(keyEnter)
		p.sees("sus_2")
	})
	t.Run("a call that was answered meanwhile is not replaced by its neighbour", func(t *testing.T) {
		p := walks(t, one, two, three)
		p.types("j")
		p.inbox.news([]wire.Approval{two, three}, false)
		p.sees("is no longer waiting")
		if p.types("yy") != nothing {
			t.Error("the neighbour was answered")
		}
		p.sees("Select a call first")
		p.types("j" + keyEnter)
		p.sees("sus_2")
	})
	t.Run("a call that is read says that it was answered", func(t *testing.T) {
		p := walks(t, one, two)
		p.types("j" + keyEnter)
		p.inbox.news([]wire.Approval{two}, false)
		p.sees("is no longer waiting", "sus_1")
	})
	t.Run("after an answer no other call is chosen", func(t *testing.T) {
		p := walks(t, one, two)
		p.types("jyy")
		p.inbox.sent(wire.DecisionAnswer{Status: 202, Code: "accepted", Target: "sus_1"}, nil)
		p.sees("approved: sus_1", "1 waiting call")
		if p.types("yy") != nothing {
			t.Error("the next one was answered")
		}
	})
}

func TestInboxShowsWhyAnAnswerWasRefused(t *testing.T) {
	refused := func(status int, code, detail string, winner *wire.Winner) error {
		return &client.Error{Status: status, Code: code, Detail: detail, Winner: winner}
	}
	for name, tt := range map[string]struct {
		kind, keys string
		err        error
		sees       []string
		again      string // keys that send again; "" if nothing does
	}{
		"somebody was first": {"approval", "jyy", refused(409, "already_decided", "a different decision came first",
			&wire.Winner{DecisionID: "d1", Action: "cancel", Reason: "no damage"}), []string{`already denied ("no damage")`, "no waiting calls"}, ""},
		"the result does not fit": {"client", "jr5" + keyEnter, refused(422, "result_invalid", "it must be an object", nil),
			[]string{"it must be an object", "> 5"}, "\x15{}" + keyEnter},
		"the arguments do not fit": {"approval", "jyy", refused(422, "arguments_invalid", "amount is no number", nil), []string{"amount is no number"}, "yy"},
		"nobody answers": {"approval", "jyy", &url.Error{Op: "Post", URL: "http://x", Err: errors.New("refused")},
			[]string{"No response", "press y or Enter to send it again"}, "y"},
	} {
		t.Run(name, func(t *testing.T) {
			p := walks(t, waits(1, tt.kind))
			if p.types(tt.keys) != sendDraft {
				t.Fatalf("nothing was sent:\n%s", p.screen())
			}
			p.inbox.sent(wire.DecisionAnswer{}, tt.err)
			p.sees(tt.sees...)
			if tt.again != "" && p.types(tt.again) != sendDraft {
				t.Errorf("it cannot be sent again:\n%s", p.screen())
			}
		})
	}
}

// changed is the editor that was closed after a minute.
func (p *person) changed(arguments json.RawMessage, err error) {
	p.t.Helper()
	p.now = p.now.Add(time.Minute)
	p.inbox.changed(arguments, err)
	p.draws()
}

func TestInboxShowsWhatEditedArgumentsChange(t *testing.T) {
	p := walks(t, waits(1, "approval"))
	if p.types("je") != editItem {
		t.Fatal("e does not edit")
	}
	p.changed(json.RawMessage(`{"order": "A-1", "amount": 80}`), nil)
	p.sees("- amount: 120", "+ amount: 80", "  amount: 80", "Approve with these edited arguments: pay of run run_1 (sus_1)?")
	if p.types("y") != sendDraft {
		t.Fatalf("it is not sent:\n%s", p.screen())
	}
	want := wire.Decision{Target: "sus_1", Action: "resume", Arguments: json.RawMessage(`{"order":"A-1","amount":80}`)}
	if diff := cmp.Diff(want, p.inbox.draft); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	for edited, says := range map[string]string{`{"amount": 120, "order": "A-1"}`: "No changes.", `{`: "not a JSON object", `[]`: "not a JSON object", `{"a":1,"a":2}`: "not a JSON object"} {
		p := walks(t, waits(1, "approval"))
		p.types("je")
		p.changed(json.RawMessage(edited), nil)
		p.sees(says)
		if p.types(" ") != nothing || p.inbox.draft.Arguments != nil {
			t.Errorf("%s is kept", edited)
		}
	}
	p.changed(nil, errors.New("ed: not found"))
	p.sees("ed: not found")
}

func TestInboxForgetsEditsThatWereNotSent(t *testing.T) {
	p := walks(t, waits(1, "approval"))
	p.types("je")
	p.changed(json.RawMessage(`{"order":"A-1","amount":80}`), nil)
	if got := p.types("nyy"); got != sendDraft || p.inbox.draft.Arguments != nil {
		t.Errorf("led to %d with %s", got, p.inbox.draft.Arguments)
	}
}

func TestInboxScreens(t *testing.T) {
	deadline := wire.Time{Time: began.Add(2 * time.Hour)}
	evil := waits(2, "approval")
	evil.Arguments, evil.Deadline = json.RawMessage("{\"to\":\"bob\u202e\x7f\"}"), &deadline
	evil.Suspension.Message = "fine\x1b[2J\n\x1b[31mreally"
	evil.Agent = "a\x1b]0;x\x07"
	p := walks(t, waits(1, "approval"), evil)
	p.inbox.resize(72, 22)
	p.types("jj" + keyEnter)
	want := `desk approvals

waits for   approval of pay
agent       a<U+001B>]0;x<U+0007>
run         run_2
call        c1
suspension  sus_2
since       2026-11-21 02:28:44Z, 3 s
deadline    2026-11-21 04:28:44Z, deadline in 1h 59m
message     fine<U+001B>[2J
            <U+001B>[31mreally

pay would run with
  to: bob<U+202E><U+007F>
    ! Has characters that do not show or change how others show. They
          are written as their numbers.





y approve  n deny  e edit the arguments  o events  q back
`
	if diff := cmp.Diff(want, p.screen()); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	p.types("q")
	want = `desk approvals  2 waiting calls

      4 s  approval  refund-desk  pay order=A-1 amount=120
>     4 s  approval  a<U+001B>]0;x<U+0007>  pay to="bob\u202e\u007f"
`
	if got := p.screen(); !strings.HasPrefix(got, want) {
		t.Errorf("list (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func TestInboxScreensFit(t *testing.T) {
	long := waits(1, "client")
	long.Suspension.Message = strings.Repeat("日本 long ", 60)
	long.Suspension.ResponseSchema = json.RawMessage(`{"type":"object"}`)
	for _, size := range [][2]int{{80, 24}, {40, 10}, {20, 6}, {200, 60}} {
		tooLong := strings.Repeat("x", size[0]+20) // for one line
		for _, keys := range []string{"", "j", "j" + keyEnter, "jr" + tooLong, "jn", "j" + keyEnter + "G"} {
			p := walks(t, long, waits(2, "approval"))
			p.inbox.resize(size[0], size[1])
			p.types(keys)
			lines := p.inbox.view()
			if len(lines) > max(size[1], 16) {
				t.Errorf("%v after %q: %d lines", size, keys, len(lines))
			}
			for _, l := range lines {
				if display.Wide(l.String()) > size[0] {
					t.Errorf("%v after %q: a line takes %d: %s", size, keys, display.Wide(l.String()), l)
				}
			}
		}
	}
}
