package lambdatool_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/tool/lambdatool"
)

func newCaller(w *world) *lambdatool.Caller {
	return lambdatool.New(w.client(), lambdatool.Options{Clock: w.clock, Random: enginetest.NewRandom(w.t, 7)})
}

// openEnds are the ways in which an invocation may have taken effect and nobody knows, and what is
// said of them.
var openEnds = []struct {
	name   string
	answer http.HandlerFunc
	says   string
}{
	{"no answer", breaks, "the connection broke before a whole answer came"},
	{"half an answer", half, "the connection broke before a whole answer came"},
	{"a fault of the service", refuses(500, "ServiceException"), "the service answered ServiceException"},
	{"a fault that nobody knows", refuses(503, "SomethingElse"), "the service answered SomethingElse"},
	{"its files failed", refuses(410, "EFSIOException"), "the service answered EFSIOException"},
}

func TestAnUnknownResultOfACallThatMustNotRunTwiceAsksAPerson(t *testing.T) {
	stopped := []struct {
		name   string
		answer http.HandlerFunc
		says   string
	}{
		{"out of time", fails("Sandbox.Timedout", "Task timed out after 3.00 seconds"), "it was stopped before it answered (Sandbox.Timedout: Task timed out after 3.00 seconds)"},
		{"out of time, as it used to be said", fails("", "2026-11-21 Task timed out after 3.00 seconds"), "it was stopped before it answered"},
		{"killed", fails("Runtime.ExitError", "Runtime exited with error: signal: killed"), "it was stopped before it answered"},
		{"a failure that says nothing", fails("", ""), "it was stopped before it answered (it gave no reason)"},
	}
	for _, tt := range append(stopped, openEnds...) {
		w := newWorld(t, tt.answer)
		out := w.call(pay)
		if out.Kind != core.KindUnknownOutcome || out.Ticket == nil || out.Text != "" || len(w.requests()) != 1 {
			t.Errorf("%s: %+v after %d requests", tt.name, out, len(w.requests()))
			continue
		}
		s := out.Ticket.Suspension
		if s.Action != "report_outcome" || !strings.HasPrefix(s.Message, "pay invoked the function payments, and "+tt.says) || out.Ticket.Pending.ID != "call_1" {
			t.Errorf("%s: %+v", tt.name, out.Ticket)
		}
	}
}

func TestACallThatMayBeRepeatedIsInvokedAgainWithTheSameKey(t *testing.T) {
	for _, tt := range openEnds {
		w := newWorld(t, tt.answer, tt.answer, says(`"done"`))
		if out := w.call(again); out.Failed || out.Text != "done" {
			t.Errorf("%s: %+v", tt.name, out)
		}
		got := w.requests()
		if len(got) != 3 || got[0].Custom["idempotency_key"] != testKey || got[2].Custom["idempotency_key"] != testKey {
			t.Errorf("%s: invoked %+v", tt.name, got)
		}
		w = newWorld(t, tt.answer)
		out := w.call(again)
		if want := "The function payments was invoked, and " + tt.says + ". It may or may not have taken effect."; !out.Failed || out.Text != want || len(w.requests()) != 3 {
			t.Errorf("%s for ever: %+v after %d requests", tt.name, out, len(w.requests()))
		}
	}
}

// TestARefusalOfTheRepeatIsNoneOfTheFirst: that there is no room for the second says nothing of
// what the first has done.
func TestARefusalOfTheRepeatIsNoneOfTheFirst(t *testing.T) {
	for _, first := range openEnds {
		for _, then := range []http.HandlerFunc{refuses(429, "TooManyRequestsException"), refuses(403, "AccessDeniedException")} {
			w := newWorld(t, first.answer, then)
			out := w.call(again)
			if !out.Failed || !strings.HasPrefix(out.Text, "The function payments was invoked, and "+first.says+". It may or may not have taken effect. It could not be invoked again: ") {
				t.Errorf("%s: %+v", first.name, out)
			}
		}
		w := newWorld(t, first.answer, fails("Duplicate", "it was paid already"))
		if out := w.call(again); !strings.Contains(out.Text, "it was paid already. It was invoked before, and "+first.says) {
			t.Errorf("%s: %+v", first.name, out)
		}
	}
}

func TestWhatDidNotRunIsSaidSoOfEveryTool(t *testing.T) {
	for _, tt := range []struct {
		status int
		code   string
		says   string
		sent   int
	}{
		{429, "TooManyRequestsException", "the function payments is throttled", 3},
		{502, "EC2ThrottledException", "the function payments cannot be invoked now (EC2ThrottledException)", 3},
		{502, "ResourceNotReadyException", "the function payments cannot be invoked now (ResourceNotReadyException)", 3},
		{502, "KMSDisabledException", "the function payments cannot be invoked now (KMSDisabledException)", 1},
		{404, "ResourceNotFoundException", "the function payments or this version of it does not exist", 1},
		{403, "AccessDeniedException", "the agents' server is not allowed to invoke the function payments", 1},
		{413, "RequestTooLargeException", "its arguments are too large for the function payments", 1},
		{400, "RecursiveInvocationException", "the service detected that payments is invoked in a loop", 1},
		{403, "ExpiredTokenException", "the function payments cannot be invoked now (ExpiredTokenException)", 1},
	} {
		for _, tool := range []agent.Tool{pay, again, look} {
			w := newWorld(t, refuses(tt.status, tt.code))
			out := w.call(tool)
			if !out.Failed || out.Ticket != nil || !strings.HasPrefix(out.Text, "The call did not run: "+tt.says) || len(w.requests()) != tt.sent {
				t.Errorf("%s: %+v after %d requests", tt.code, out, len(w.requests()))
			}
			if strings.Contains(out.Text, "arn:") || strings.Contains(out.Text, "taken effect") {
				t.Errorf("%s: it says too much: %s", tt.code, out.Text)
			}
		}
	}
}

func TestThrottlesPassForACallThatMustNotRunTwiceToo(t *testing.T) {
	throttled := refuses(429, "TooManyRequestsException")
	w := newWorld(t, throttled, throttled, says(`"paid"`))
	if out := w.call(pay); out.Failed || out.Text != "paid" || len(w.clock.pauses) != 2 || w.clock.pauses[1] > 500_000_000 {
		t.Errorf("%+v after pauses %v", out, w.clock.pauses)
	}
}

func TestAServiceThatCannotBeReachedHasRunNothing(t *testing.T) {
	w := newWorld(t, says(`{}`))
	w.server.Close()
	for _, tool := range []agent.Tool{pay, again} {
		if out := w.call(tool); !out.Failed || !strings.HasPrefix(out.Text, "The call did not run: the service could not be reached") {
			t.Errorf("%+v", out)
		}
	}
}
