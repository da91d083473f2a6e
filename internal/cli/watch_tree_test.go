package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const readChild = "GET /v1/runs/" + childID

// at is an event of a run, some milliseconds after the first.
func at(after int, run, kind, data string) wire.Event {
	begun := time.Date(2026, 11, 21, 2, 28, 44, 0, time.UTC)
	return wire.Event{RunID: run, Type: kind, At: wire.Time{Time: begun.Add(time.Duration(after) * time.Millisecond)}, Data: json.RawMessage(data), Cursor: kind}
}

// pagesOf is a log that is read page by page: all of it, and then nothing.
func pagesOf(events ...wire.Event) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page := wire.EventPage{Items: events, Next: "end"}
		if r.URL.Query().Get("after") == "end" {
			page.Items = []wire.Event{}
		}
		answer(200, page)(w, r)
	}
}

// family is a server on which the run waits for a child, and that for an approval.
func family(rests wire.Run) map[string]http.HandlerFunc {
	const started = `{"call_id":"call_1","tool_name":"research","agent":"researcher","child_run_id":"` + childID + `"}`
	return map[string]http.HandlerFunc{
		readRun: answer(200, rests),
		readRun + "/events": pagesOf(at(0, runID, "call.ready", `{"call_id":"call_1","tool_name":"research","arguments":{}}`), at(1, runID, "child.started", started),
			at(1, runID, "child.started", strings.Replace(started, childID, "run_gone_0", 1)), at(4, runID, "run.status", `{"status":"waiting"}`)),
		readChild + "/events": pagesOf(at(2, childID, "call.ready", `{"call_id":"call_9","tool_name":"buy_report","arguments":{}}`),
			at(5, childID, "call.suspended", `{"call_id":"call_9","tool_name":"buy_report","kind":"approval"}`)),
	}
}

func TestWatchShowsATreeInOrderOfTime(t *testing.T) {
	rests := run("waiting", parent, func(r *wire.Run) { r.Pending = []wire.Pending{below("sus_1_a", "researcher")} })
	s := newServer(t, family(rests))
	out := dormouse(t, s, "watch", runID, "--tree")
	out.wantExit(t, cmdline.ExitOK)
	want := []string{"02:28:44.000 call.ready research call_1 {}", "02:28:44.001 child.started research call_1 researcher run_c1_0", "02:28:44.001 child.started research call_1 researcher run_gone_0",
		"02:28:44.002 researcher/call_1 ▸ call.ready buy_report call_9 {}", "02:28:44.004 run.status waiting",
		"02:28:44.005 researcher/call_1 ▸ call.suspended buy_report call_9 approval", "waits for approval of buy_report null"}
	if diff := cmp.Diff(want, strings.Split(squeezed(out.stdout), "\n")[:len(want)]); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	contains(t, dormouse(t, s, "watch", runID, "--tree", "--json").stdout, `"cursor":"call.suspended","path":[{"run_id":"`+childID+`","call_id":"call_1","agent":"researcher"}]}`)
}

// TestRunWatchGoesOnWithTheRunsBelow: the stream ends when the run waits for its child.
func TestRunWatchGoesOnWithTheRunsBelow(t *testing.T) {
	rests := run("waiting", parent, func(r *wire.Run) { r.Pending = []wire.Pending{below("sus_1_a", "researcher")} })
	answers := family(rests)
	answers["POST /v1/runs"] = answer(202, run("created"))
	answers[readRun+"/events"] = logOf(at(1, runID, "child.started", `{"call_id":"call_1","tool_name":"research","agent":"researcher","child_run_id":"`+childID+`"}`))
	out := dormouse(t, newServer(t, answers), "run", "refund-desk", "Refund A-17", "--watch")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, squeezed(out.stdout), "child.started research call_1 researcher run_c1_0\n", "researcher/call_1 ▸ call.suspended buy_report call_9 approval\n", "waits for approval of buy_report")
	out = dormouse(t, newServer(t, answers), "watch", runID)
	out.wantExit(t, cmdline.ExitOK)
	if strings.Contains(out.stdout, "▸") {
		t.Errorf("without --tree it shows\n%s", out.stdout)
	}
}

func TestWatchOfATreeNeedsARun(t *testing.T) {
	out := dormouse(t, newServer(t, nil), "watch", "--tree")
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, "--follow and --tree need a run")
	dormouse(t, newServer(t, nil), "watch", runID, "--tree").wantExit(t, cmdline.ExitFailed)
}
