package linkpage

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

const refund = `{"type":"object","required":["order","amount"],"properties":{"order":{"type":"string"},"amount":{"type":"number","minimum":0},"currency":{"enum":["EUR","USD"]},
	"note":{"type":"string"},"tell":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},"days":{"type":"array","items":{"enum":["mon","tue"]}},
	"to":{"type":"object","properties":{"city":{"type":"string"},"zip":{"type":["string","null"]}}},"more":{"type":"object"}}}`

func refundOf(arguments string) *wire.Pending {
	return &wire.Pending{Tool: "refund", Kind: core.KindApproval.String(), ResumeMode: core.ReplayToolCall.String(), Arguments: json.RawMessage(arguments),
		ToolDetails: &wire.ToolDetails{Parameters: json.RawMessage(refund)}}
}

// What a form is filled with is what is read from it, after a browser had it.
func TestFieldsHoldTheArgumentsAsTheyAre(t *testing.T) {
	for arguments, want := range map[string]bool{
		`{"order":"B-9","amount":430}`: true,
		`{"order":"B-9","amount":430.50,"currency":"USD","note":"two\nlines","tell":true}`:                              true,
		`{"order":"B-9","amount":1e400,"tags":["a","b"],"days":["tue"],"to":{"city":"Bonn"},"more":{"a":[1,"\u202e"]}}`: true,
		`{"order":"B-9","amount":-1}`:                             true,
		`{"order":"B-9","amount":"430"}`:                          false,
		`{"order":"B-9","amount":1,"x":1}`:                        false,
		`{"order":"","amount":1}`:                                 false,
		`{"order":"a\rb","amount":1}`:                             false,
		`{"order":"a\r\nb","amount":1}`:                           false,
		`{"order":"a\u0000b","amount":1}`:                         false,
		`{"order":"B-9","amount":1,"tags":[""]}`:                  false,
		`{"order":"B-9","amount":1,"tags":["a\nb"]}`:              false,
		`{"order":"B-9","amount":1,"days":["tue","mon"]}`:         false,
		`{"order":"B-9","amount":1,"currency":"GBP"}`:             false,
		`{"order":"B-9","amount":1,"to":{"city":"Bonn","x":1}}`:   false,
		`{"order":"B-9","amount":1,"to":null}`:                    false,
		`{"order":"B-9","amount":1,"to":{"city":"a","zip":null}}`: false,
		`{"amount":1}`: true,
		`[]`:           false,
	} {
		if _, _, ok := argumentsForm(refundOf(arguments), json.RawMessage(arguments)); ok != want {
			t.Errorf("%s has fields: %v", arguments, ok)
		}
	}
}

func FuzzFieldsHoldTheArgumentsAsTheyAre(f *testing.F) {
	f.Add(`{"order":"B-9","amount":430,"note":"a\r\nb","tags":["x"," y"],"days":["mon"],"to":{"city":" "}}`)
	f.Fuzz(func(t *testing.T, arguments string) {
		call := refundOf(arguments)
		fields, filled, ok := argumentsForm(call, call.Arguments)
		if !ok {
			return
		}
		browser := url.Values{}
		for name, all := range filled {
			browser.Set(name, strings.ReplaceAll(all[0], "\n", "\r\n"))
		}
		if back, wrong := fields.Read(browser); len(wrong) == 0 && !same(back, call.Arguments) {
			t.Errorf("%s comes back as %s", arguments, back)
		}
	})
}

// steps sends the forms of an edit one after the other, and returns the last page and verdict.
func steps(t *testing.T, arguments string, forms ...url.Values) (page string, v wire.Verdict, err error) {
	t.Helper()
	for _, form := range forms {
		q := Question{Call: refundOf(arguments), Edit: true}
		v, err = q.Read(form, q.Call)
		page = Ask(q, time.Unix(0, 0), "")
	}
	return page, v, err
}

func TestAChangeIsShownBeforeItIsSent(t *testing.T) {
	const asked = `{"amount":430,"currency":"EUR","note":"Sorry","order":"B-9","tags":["a"]}`
	page, _, _ := steps(t, asked, url.Values{"action": {"change"}})
	for _, want := range []string{`name="f1" inputmode="decimal"`, `value="430"`, ">\nSorry</textarea>", `value="compare" hidden`, "Show the difference"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of fields lacks %s:\n%s", want, page)
		}
	}
	typed := url.Values{"action": {"compare"}, "f0": {"B-9"}, "f1": {"400.50"}, "f2": {"0"}, "f3": {""}, "f5": {"a"}}
	page, v, err := steps(t, asked, typed)
	if err != nil || v.Arguments != nil || strings.Count(page, "changed by you") != 2 || !strings.Contains(page, "left out") ||
		!strings.Contains(page, `value="{&#34;amount&#34;:400.50,&#34;currency&#34;:&#34;EUR&#34;,&#34;order&#34;:&#34;B-9&#34;,&#34;tags&#34;:[&#34;a&#34;]}"`) {
		t.Errorf("%v, %+v\n%s", err, v, page)
	}
	if strings.Contains(page, `value="resume"`) {
		t.Error("the page of the difference approves the call as it was")
	}
	// back, with what was changed
	page, _, _ = steps(t, asked, url.Values{"action": {"change"}, "arguments": {`{"amount":400.50,"order":"B-9"}`}})
	if !strings.Contains(page, `value="400.50"`) || strings.Contains(page, "Sorry") {
		t.Errorf("what was changed is gone:\n%s", page)
	}
	_, v, err = steps(t, asked, url.Values{"action": {"edit"}, "arguments": {`{"amount":400.50,"order":"B-9"}`}})
	if err != nil || v.Action != "resume" || string(v.Arguments) != `{"amount":400.50,"order":"B-9"}` {
		t.Errorf("%v, %+v", err, v)
	}
}

func TestWhatDoesNotFitIsSaidBesideItsField(t *testing.T) {
	const asked = `{"amount":430,"order":"B-9"}`
	for value, says := range map[string]string{"abc": "Write a number", "-1": "This doesn&#39;t fit", "": "An answer is needed here", "430": "nothing is changed"} {
		q := Question{Call: refundOf(asked), Edit: true}
		v, err := q.Read(url.Values{"action": {"compare"}, "f0": {"B-9"}, "f1": {value}}, q.Call)
		page := Ask(q, time.Unix(0, 0), "")
		if err != nil || v.Arguments != nil || q.Looked() != 422 || !strings.Contains(page, says) || !strings.Contains(page, fmt.Sprintf(`value="%s"`, value)) || strings.Contains(page, `value="edit"`) {
			t.Errorf("%q: %v, %d\n%s", value, err, q.Looked(), page)
		}
	}
}

// A link that can't edit has no such pages, whatever its form says.
func TestWithoutTheRightThereIsNoPageOfAnEdit(t *testing.T) {
	for _, action := range []string{"change", "compare", "edit"} {
		q := Question{Call: refundOf(`{"amount":430,"order":"B-9"}`)}
		_, _ = q.Read(url.Values{"action": {action}, "arguments": {`{"amount":1}`}}, q.Call)
		if page := Ask(q, time.Unix(0, 0), ""); strings.Contains(page, `value="edit"`) || strings.Contains(page, "Show the difference") {
			t.Errorf("%s:\n%s", action, page)
		}
	}
}
