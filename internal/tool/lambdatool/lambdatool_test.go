package lambdatool_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

func TestAFunctionIsGivenTheArgumentsAsTheyAreAndTheKeyBeside(t *testing.T) {
	w := newWorld(t, says(`{}`))
	tool := agent.Tool{Name: "pay", Lambda: &agent.Lambda{Function: "payments", Qualifier: "live"}}
	const arguments = `{"z": 9007199254740993, "amount": 1.10, "a": [ ]}`
	if _, err := w.tool(tool).Run(t.Context(), request(tool, arguments)); err != nil {
		t.Fatal(err)
	}
	want := []invoked{{Path: "/2015-03-31/functions/payments/invocations", Query: "Qualifier=live", Kind: "RequestResponse", Event: arguments,
		Custom: map[string]string{"idempotency_key": testKey, "run_id": "run_1", "thread_id": "thr_1", "tenant": "acme", "call_id": "call_1", "tool": "pay"}}}
	if diff := cmp.Diff(want, w.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARepeatAfterALostProcessHasTheSameKeyAndSaysSo(t *testing.T) {
	w := newWorld(t, fails("ValueError", "no such order"))
	req := request(again, ``)
	req.Again = true
	out, err := w.tool(again).Run(t.Context(), req)
	got := w.requests()
	if err != nil || len(got) != 1 || got[0].Custom["idempotency_key"] != testKey || got[0].Custom["repeated"] != "true" || got[0].Event != "{}" {
		t.Fatalf("invoked %+v, %v", got, err)
	}
	if !out.Failed || !strings.Contains(out.Text, "The process that made the call before crashed") && !strings.Contains(out.Text, "the process that made the call before crashed") {
		t.Errorf("outcome %+v", out)
	}
}

func TestTheClientContextHasRoomForWhateverAModelCallsItsCalls(t *testing.T) {
	w := newWorld(t, says(`{}`))
	req := request(look, `{}`)
	req.Call.ID, req.Key = strings.Repeat("c", 10_000)+"\r\n", strings.Repeat("k", 10_000)
	if _, err := w.tool(look).Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	custom := w.requests()[0].Custom
	if custom["idempotency_key"] != core.Digest([]byte(req.Key)) || custom["call_id"] != core.Digest([]byte(req.Call.ID)) {
		t.Errorf("%v", custom)
	}
}

func TestWhatAFunctionAnswersIsText(t *testing.T) {
	for payload, want := range map[string]string{
		`{"paid": true,  "id": 9007199254740993, "amount": 1.10}`: `{"paid":true,"id":9007199254740993,"amount":1.10}`,
		`"Paid.\nThank you."`: "Paid.\nThank you.",
		`[1, 2]`:              `[1,2]`,
		`null`:                "The function answered without text.",
		``:                    "The function answered without text.",
		`plain words`:         "plain words",
		"\xff\xfe":            "The function answered with bytes that are not text, which cannot be shown.",
	} {
		if out := newWorld(t, says(payload)).call(look); out.Failed || out.Text != want {
			t.Errorf("%q: %+v", payload, out)
		}
	}
}

func TestALongAnswerIsCutWithANote(t *testing.T) {
	tool := look
	tool.Lambda = &agent.Lambda{Function: "f", MaxBytes: 1000}
	w := newWorld(t, says(`"`+strings.Repeat("ä", 600)+`"`))
	out := w.call(tool)
	if want := strings.Repeat("ä", 500) + "\n[cut off: the result has 1200 bytes, of which only the beginning is kept]"; out.Text != want {
		t.Errorf("%d bytes: %s", len(out.Text), out.Text)
	}
}

func TestAnEventThatIsTooLargeIsNotSent(t *testing.T) {
	w := newWorld(t, says(`{}`))
	out, err := w.tool(pay).Run(t.Context(), request(pay, `{"x":"`+strings.Repeat("x", 6<<20)+`"}`))
	if err != nil || !out.Failed || !strings.HasPrefix(out.Text, "The call did not run: its arguments have 6291464 bytes") || len(w.requests()) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestARepeatThatIsNotSentDoesNotDenyTheFirst: what the crashed process did is not known.
func TestARepeatThatIsNotSentDoesNotDenyTheFirst(t *testing.T) {
	req := request(again, `{`)
	req.Again = true
	out, err := newWorld(t, says(`{}`)).tool(again).Run(t.Context(), req)
	if err != nil || !strings.HasPrefix(out.Text, "The call did not run: its arguments are not valid JSON.") || !strings.HasSuffix(out.Text, "may or may not have taken effect.") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTheMessageOfAFailedFunctionIsShownAndItsStackIsNot(t *testing.T) {
	for _, tool := range []agent.Tool{pay, again, look} {
		w := newWorld(t, fails("PaymentRefused", "the card is blocked."))
		out := w.call(tool)
		want := "The function failed: PaymentRefused: the card is blocked."
		if !tool.ReadOnly {
			want += " The call may or may not have taken effect."
		}
		if !out.Failed || out.Text != want || len(w.requests()) != 1 {
			t.Errorf("%s: %+v after %d requests", tool.Name, out, len(w.requests()))
		}
	}
	if out := newWorld(t, fails("Runtime.ImportModuleError", "Unable to import module 'app'")).call(pay); strings.Contains(out.Text, "taken effect") || !out.Failed {
		t.Errorf("a function that was not reached: %+v", out)
	}
}

// gone waits until the client has closed the connection, and does not answer then: an answer
// written at that moment may still arrive.
func gone(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

func TestACallEndsWithItsTimeOrItsContext(t *testing.T) {
	silent := func(w *world) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			w.clock.Advance(time.Minute)
			gone(r)
		}
	}
	for _, tool := range []agent.Tool{pay, again, look} {
		w := newWorld(t)
		w.answer = []http.HandlerFunc{silent(w)}
		out := w.call(tool)
		if text := out.Text + message(out); !strings.Contains(text, "no answer came within 30s") || (out.Ticket != nil) != (tool.Delivery == core.AtMostOnce) {
			t.Errorf("%+v", out)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		gone(r)
	})
	if out, err := w.tool(again).Run(ctx, request(again, `{}`)); !errors.Is(err, context.Canceled) || len(w.requests()) != 1 {
		t.Errorf("%+v, %v after %d requests", out, err, len(w.requests()))
	}
}

func message(out core.Outcome) string {
	if out.Ticket == nil {
		return ""
	}
	return out.Ticket.Suspension.Message
}

func TestNoHiddenValueComesBack(t *testing.T) {
	const planted = `planted/"value"+1`
	long := strings.Repeat("x", 1995) + planted
	for name, answer := range map[string]http.HandlerFunc{
		"a text": says(`"<planted/\"value\"+1>"`), "an object": says(`{"env": "planted\/\"value\"+1"}`), "cut": says(`"` + strings.Repeat("x", 995) + `planted/\"value\"+1 and more"`),
		"a failure": fails("Error", "with "+planted), "a long failure": fails("Error", long+" and more"), "its type": fails(planted, "x"),
		"stopped": fails("Sandbox.Timedout", "with "+planted), "words of the service": refuses(400, planted),
	} {
		for _, tool := range []agent.Tool{pay, look} {
			tool.Lambda = &agent.Lambda{Function: "f", MaxBytes: 1000}
			w := newWorld(t, answer)
			w.hidden = secret.Values{"TOKEN": planted}
			out := w.call(tool)
			if text := out.Text + message(out); text == "" || strings.Contains(text, "plan") || strings.Contains(text, "value\"") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}

func TestAToolThatIsNoFunctionHasNoBody(t *testing.T) {
	w := newWorld(t, says(`{}`))
	if _, err := newCaller(w).Body(agent.Definition{Name: "desk"}, agent.Tool{Name: "x"}); err == nil || !strings.Contains(err.Error(), "agent desk: tool x") {
		t.Errorf("got %v", err)
	}
}
