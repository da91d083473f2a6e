package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const readAsk = "GET /v1/asks/" + runID

func asked(status string, change ...func(*wire.Ask)) wire.Ask {
	a := wire.Ask{ID: runID, Status: status, Title: "Deploy?", Arguments: json.RawMessage(`{"n":1}`)}
	for _, c := range change {
		c(&a)
	}
	return a
}

func edited(a *wire.Ask) { a.Asked, a.Arguments = a.Arguments, json.RawMessage(`{"n":2}`) }

func TestTheExitCodeOfAnAskIsItsAnswer(t *testing.T) {
	waiting, approved := answer(200, asked("waiting")), answer(200, asked("approved"))
	for _, tt := range []struct {
		name         string
		start, read  http.HandlerFunc
		args         []string
		exit         int
		stdout, says string
	}{
		{"yes", nil, inTurn(waiting, approved), nil, 0, "approved", "to answer: dormouse decide " + runID + " --approve"},
		{"no", nil, answer(200, asked("denied", func(a *wire.Ask) { a.DecidedBy, a.Reason = "token:anna", "freeze" })), nil, cmdline.ExitFailed, "freeze", "denied by token:anna: freeze"},
		{"timed out", nil, answer(200, asked("timed_out")), nil, cmdline.ExitUnanswered, "timed_out", "no answer"},
		{"cancelled", nil, answer(200, asked("cancelled")), nil, cmdline.ExitUnanswered, "cancelled", "no answer"},
		{"a status of a newer server", nil, answer(200, asked("escalated")), nil, cmdline.ExitUnanswered, "escalated", "no answer"},
		{"edited", nil, answer(200, asked("approved", edited)), nil, cmdline.ExitUnanswered, `{"n":2}`, "use --json to read them"},
		{"edited, for a program", nil, answer(200, asked("approved", edited)), []string{"--json"}, 0, `"arguments":{"n":2}`, ""},
		{"refused", problem(403, "role_required", "it needs start"), nil, nil, cmdline.ExitUnanswered, "", "it needs start"},
		{"invalid", problem(400, "invalid_request", "title is too long"), nil, nil, cmdline.ExitUsage, "", "title is too long"},
		{"gone", nil, problem(404, "run_not_found", "the ask doesn't exist"), nil, cmdline.ExitUnanswered, "", "doesn't exist"},
		{"not waited for", nil, nil, []string{"--no-wait"}, 0, "dormouse ask --resume " + runID, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := map[string]http.HandlerFunc{"POST /v1/asks": answer(202, asked("waiting"))}
			if tt.start != nil {
				answers["POST /v1/asks"] = tt.start
			}
			if tt.read != nil {
				answers[readAsk] = tt.read
			}
			out := dormouse(t, newServer(t, answers), append([]string{"ask", "Deploy?"}, tt.args...)...)
			out.wantExit(t, tt.exit)
			contains(t, out.stdout, tt.stdout)
			contains(t, out.stderr, tt.says)
		})
	}
}

// A question whose answer was lost can have been asked, so another command must use its key.
func TestALostAnswerNamesTheKey(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lose func(web *httptest.Server, interrupt func())
		exit int
	}{
		"the server goes away": {func(web *httptest.Server, _ func()) { _ = web.Listener.Close() }, cmdline.ExitUnreachable},
		"Ctrl-C":               {func(_ *httptest.Server, interrupt func()) { interrupt() }, cmdline.ExitUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var web *httptest.Server
			web = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				tt.lose(web, interrupt)
				panic(http.ErrAbortHandler)
			}))
			defer web.Close()
			var stdout, stderr bytes.Buffer
			exit := cli.Main(ctx, []string{"ask", "Deploy?", "--key", "k1"}, strings.NewReader(""), &stdout, &stderr,
				cmdline.Options{Getenv: func(name string) string { return map[string]string{"DORMOUSE_URL": web.URL}[name] }})
			output{exit, stdout.String(), stderr.String()}.wantExit(t, tt.exit)
			contains(t, stderr.String(), "it may have been asked: repeat the command with --key k1")
		})
	}
}

func TestAskThatSentNothingDoesNotNameTheKey(t *testing.T) {
	for name, args := range map[string][]string{"no server": {"--key", "k1"}, "no key": {"--key", "\u00e9"}} {
		if out := dormouse(t, nil, append([]string{"ask", "Deploy?"}, args...)...); out.exit == 0 || strings.Contains(out.stderr, "may have been asked") {
			t.Errorf("%s: exit %d\n%s", name, out.exit, out.stderr)
		}
	}
}

func TestAskSends(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"POST /v1/asks": answer(202, asked("waiting")), readAsk: answer(200, asked("approved"))})
	out := dormouse(t, s, "ask", "Deploy?", "--arg", "version=4.2", "--arg", "url=a=b", "--approver", "token:anna", "--approver", "role:admin", "--not-by-me",
		"--deadline", "4h", "--metadata", `{"ticket":1}`, "--key", "k1", "--callback", "https://ci.example.com/", "--callback-secret", "CALLBACK_CI")
	out.wantExit(t, cmdline.ExitOK)
	var got wire.AskRequest
	if err := json.Unmarshal(s.last("POST").body, &got); err != nil {
		t.Fatal(err)
	}
	want := wire.AskRequest{Title: "Deploy?", Arguments: json.RawMessage(`{"url":"a=b","version":"4.2"}`), Approvers: []string{"token:anna", "role:admin"}, NotBy: "starter",
		Deadline: "4h", Metadata: json.RawMessage(`{"ticket":1}`), Callback: &wire.AskCallback{URL: "https://ci.example.com/", Secret: "CALLBACK_CI"}}
	if diff := cmp.Diff(want, got); diff != "" || s.last("POST").key != "k1" {
		t.Errorf("key %q (-want +got):\n%s", s.last("POST").key, diff)
	}
	resumed := dormouse(t, newServer(t, map[string]http.HandlerFunc{readAsk: answer(200, asked("approved"))}), "ask", "--resume", runID)
	resumed.wantExit(t, cmdline.ExitOK)
	for _, args := range [][]string{{"--arg", "version"}, {"--arg", "a=1", "--arg", "a=2"}, {"--arg", "a=1", "--arguments", "{}"}, {"--callback-secret", "CALLBACK_CI"}, {"--resume", runID}} {
		out := dormouse(t, s, append([]string{"ask", "Deploy?"}, args...)...)
		out.wantExit(t, cmdline.ExitUsage)
	}
}
