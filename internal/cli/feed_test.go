package cli_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// feedOnce is a stream of a feed with one event, which is not served again.
func feedOnce(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("after") != "" {
		problem(403, "role_required", "the token may not do this any more")(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "id: a\nevent: counts\ndata: {\"waiting\":3,\"kinds\":{\"client\":1,\"approval\":2},\"at_least\":%v}\n\n", r.URL.Query().Get("agent") != "")
	fmt.Fprintf(w, "id: b\nevent: call.suspended\ndata: {\"type\":\"call.suspended\",\"run_id\":\"run_x_0\",\"at\":\"2026-03-01T12:00:00.000Z\",\"data\":{\"tool_name\":\"refund\",\"from\":%q}}\n\n", r.URL.RawQuery)
}

func TestWatchWithoutARunFollowsAllRuns(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/events": feedOnce})
	out := dormouse(t, s, "watch")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stdout, "3 waiting: 2 approval, 1 client\n", "12:00:00  run_x_0  call.suspended     refund\n")
	contains(t, out.stderr, "the token may not do this any more")
	out = dormouse(t, s, "watch", "--agent", "desk", "--json", "--all")
	contains(t, out.stdout, `{"counts":{"waiting":3,`, `"at_least":true`, `"from":"agent=desk"`)
	if strings.Count(out.stdout, "\n") != 2 {
		t.Errorf("not one line each: %s", out.stdout)
	}
	contains(t, dormouse(t, s, "watch", "--agent", "desk").stdout, "at least 3 waiting: ")
	for _, args := range [][]string{{"watch", "--follow"}, {"watch", runID, "--all"}, {"watch", runID, "--agent", "desk"}, {"watch", runID, runID}} {
		wrong := dormouse(t, s, args...)
		wrong.wantExit(t, cmdline.ExitUsage)
	}
}

func TestDecisionsListsWhoSaidWhat(t *testing.T) {
	recorded := func(by string, change func(*wire.RecordedDecision)) wire.RecordedDecision {
		d := wire.RecordedDecision{RunID: runID, Agent: "desk", Tool: "refund", Kind: "approval",
			DecisionRecordedData: wire.DecisionRecordedData{Action: "resume", By: by, Reason: "fine\nby me", Applied: true}}
		change(&d)
		return d
	}
	page := wire.DecisionPage{Next: "more", Items: []wire.RecordedDecision{recorded("token:anna", func(*wire.RecordedDecision) {}),
		recorded("token:ben", func(d *wire.RecordedDecision) { d.Applied, d.Action = false, "cancel" }),
		recorded("token:cy", func(d *wire.RecordedDecision) { d.Applied, d.Vote = false, &client.Ballot{Outcome: "counted"} }),
		recorded("token:dan", func(d *wire.RecordedDecision) {
			d.Applied, d.Action, d.Vote = false, "edit", &client.Ballot{Outcome: "superseded"}
		}),
		recorded("", func(d *wire.RecordedDecision) { d.Late, d.Via, d.Tool, d.Kind = true, "link", "", "interrupt" }),
		recorded("token:eve", func(d *wire.RecordedDecision) { d.Tool, d.Title = "ask", "Deploy\x1b "+strings.Repeat("4.2", 40) }),
		recorded("deadline", func(d *wire.RecordedDecision) { d.TimedOut = true }),
		recorded("token:cleo", func(d *wire.RecordedDecision) { d.Unreadable = &wire.RunError{Code: "unreadable"} })}}
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/decisions": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("by") == "no one" {
			answer(200, wire.DecisionPage{Items: []wire.RecordedDecision{}})(w, r)
			return
		}
		answer(200, page)(w, r)
	}})
	out := dormouse(t, s, "decisions", "--action", "resume", "--agent", "desk")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "token:anna", "cancel (not applied)", "resume (vote)", "edit (not applied)", "resume (too late, not applied)", "resume (by the deadline)", "interrupt", "link", "unreadable", "  Deploy<U+001B> 4.24.2", "more)  resume",
		"decisions --agent desk --action resume --limit 20 --cursor more")
	contains(t, dormouse(t, s, "decisions", "--by", "link:Anna B").stdout, "next page: dormouse decisions --by 'link:Anna B' --limit 20 --cursor more\n")
	contains(t, dormouse(t, s, "decisions", "--created-after", "2026-03-01t09:30:00Z", "--created-before", "2026-03-02T00:00:00+01:00").stdout,
		"next page: dormouse decisions --created-after 2026-03-01T09:30:00Z --created-before 2026-03-02T00:00:00+01:00 --limit 20 --cursor more\n")
	if want := "created_after=2026-03-01T09%3A30%3A00Z&created_before=2026-03-02T00%3A00%3A00%2B01%3A00&limit=20"; s.last("GET").query != want {
		t.Errorf("asked for %s, want %s", s.last("GET").query, want)
	}
	if strings.Contains(out.stdout, "fine\n") {
		t.Errorf("a reason breaks its line: %s", out.stdout)
	}
	contains(t, dormouse(t, s, "decisions", "--by", "no one").stdout, "no decisions")
	contains(t, dormouse(t, s, "decisions", "--json").stdout, `"next":"more"`)
	wrong := dormouse(t, s, "decisions", "--limit", "201")
	wrong.wantExit(t, cmdline.ExitUsage)
}
