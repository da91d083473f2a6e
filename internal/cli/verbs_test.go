package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/runs"
)

func TestRun(t *testing.T) {
	answers := func() map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{
			"POST /v1/runs":         answer(202, run("created")),
			"GET /v1/runs/" + runID: inTurn(answer(200, run("running")), answer(200, run("waiting", pending("sus_1_a")))),
		}
	}
	t.Run("sends agent, input, thread, metadata and key", func(t *testing.T) {
		s := newServer(t, answers())
		out := dormouse(t, s, "run", "refund-desk", "Refund A-17", "--thread", "thr_x7", "--key", "k1", "--metadata", `{"ticket":1}`)
		out.wantExit(t, cmdline.ExitOK)
		sent := s.last("POST")
		var got wire.StartRequest
		if err := json.Unmarshal(sent.body, &got); err != nil {
			t.Fatal(err)
		}
		want := wire.StartRequest{Agent: "refund-desk", Input: json.RawMessage(`"Refund A-17"`), ThreadID: "thr_x7",
			Metadata: json.RawMessage(`{"ticket":1}`)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if sent.key != "k1" {
			t.Errorf("key %q, want k1", sent.key)
		}
		contains(t, out.stdout, runID, "created")
	})
	t.Run("reads the input from standard input", func(t *testing.T) {
		s := newServer(t, answers())
		dormouseWith(t, s, "two\nlines\n", nil, "run", "refund-desk", "-").wantExit(t, cmdline.ExitOK)
		contains(t, string(s.last("POST").body), `"two\nlines"`)
	})
	t.Run("waits until the run waits, and says how to answer", func(t *testing.T) {
		out := dormouse(t, newServer(t, answers()), "run", "refund-desk", "Refund A-17", "--wait")
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "waiting", "issue_refund", "dormouse decide "+runID+" sus_1_a --approve")
	})
	t.Run("warns soon, and once for each attempt, that the model does not answer", func(t *testing.T) {
		down := func(in time.Duration) http.HandlerFunc {
			return answer(200, run("running", func(r *wire.Run) {
				next := wire.Time{Time: time.Now().Add(in)}
				r.WaitingOn, r.NextAttemptAt, r.Code, r.Detail = "model", &next, "model_unavailable", "nobody listens; check\nbase_url"
			}))
		}
		first := down(4*time.Second + 200*time.Millisecond)
		for _, flags := range [][]string{nil, {"--json"}} {
			table := answers()
			table[readRun] = inTurn(first, first, down(50*time.Minute), answer(200, run("running")), answer(200, run("done", done("natural_end"))))
			s := newServer(t, table)
			out := dormouse(t, s, append([]string{"run", "refund-desk", "hi", "--wait"}, flags...)...)
			out.wantExit(t, cmdline.ExitOK)
			if n := strings.Count(out.stderr, "is waiting for its model: nobody listens; check base_url; next attempt in "); n != 2 || !strings.Contains(out.stderr, runID) {
				t.Errorf("warned %d times: %s", n, out.stderr)
			}
			if code := strings.Contains(out.stderr, `{"warning":{"code":"model_unavailable"`); code != (flags != nil) {
				t.Errorf("%v: %s", flags, out.stderr)
			}
			for i, want := range []string{"wait=2", "wait=4", "wait=8", "wait=16", "wait=20"} {
				if got := s.preferred()[i]; got != want {
					t.Errorf("request %d prefers %q, want %q", i, got, want)
				}
			}
		}
	})
	t.Run("prints one JSON value", func(t *testing.T) {
		out := dormouse(t, newServer(t, answers()), "run", "refund-desk", "Refund A-17", "--wait", "--json")
		var got wire.Run
		if err := json.Unmarshal([]byte(out.stdout), &got); err != nil || got.Status != "waiting" {
			t.Errorf("got %v, %+v", err, got)
		}
	})
}

func TestToken(t *testing.T) {
	list := map[string]http.HandlerFunc{"GET /v1/runs": answer(200, wire.Page[wire.Run]{Items: []wire.Run{}})}
	t.Run("from the environment", func(t *testing.T) {
		s := newServer(t, list)
		dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": "secret"}, "runs").wantExit(t, cmdline.ExitOK)
		if got := s.last("GET").auth; got != "Bearer secret" {
			t.Errorf("Authorization %q", got)
		}
	})
	t.Run("from a file, which comes first", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte("other\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newServer(t, list)
		dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": "secret"}, "runs", "--token-file", file).wantExit(t, cmdline.ExitOK)
		if got := s.last("GET").auth; got != "Bearer other" {
			t.Errorf("Authorization %q", got)
		}
	})
}

func TestRuns(t *testing.T) {
	page := wire.Page[wire.Run]{Items: []wire.Run{run("waiting", pending("sus_1_a")), run("done", done("natural_end"))}, Next: "c2"}
	s := newServer(t, map[string]http.HandlerFunc{
		"GET /v1/runs":                       answer(200, page),
		"POST /v1/runs/" + runID + "/cancel": answer(202, run("running")),
	})
	out := dormouse(t, s, "runs", "--status", "waiting", "--agent", "refund-desk", "--limit", "2")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "RUN", "waiting", "done (natural_end)", "next page: dormouse runs --status waiting --agent refund-desk --limit 2 --cursor c2")
	contains(t, s.last("GET").query, "status=waiting", "agent=refund-desk", "limit=2")

	out = dormouse(t, s, "runs", "cancel", runID)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "accepted")
}

func TestApprovalsShowTheCommandsThatAnswer(t *testing.T) {
	client, lost := approval("sus_2_b"), approval("sus_3_c")
	client.Kind, lost.Kind = "client", "unknown_outcome"
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/approvals": answer(200, wire.Page[wire.Approval]{Items: []wire.Approval{
		{RunID: "run_a_0", Agent: "refund-desk", Pending: approval("sus_1_a")},
		{RunID: "run_b_0", Agent: "refund-desk", Pending: client},
		{RunID: "run_c_0", Agent: "refund-desk", Pending: lost},
	}})})
	out := dormouse(t, s, "approvals", "--url", s.url)
	out.wantExit(t, cmdline.ExitOK)
	flag := " --url " + s.url
	contains(t, out.stdout,
		"dormouse decide run_a_0 sus_1_a"+flag+" --approve", "dormouse decide run_a_0 sus_1_a"+flag+" --deny",
		"dormouse decide run_b_0 sus_2_b"+flag+" --result JSON", "dormouse decide run_b_0 sus_2_b"+flag+" --error TEXT",
		"it did not happen, run it", "dormouse decide run_c_0 sus_3_c"+flag+" --result JSON",
		"Refunds above 100 need a person.")

	empty := newServer(t, map[string]http.HandlerFunc{"GET /v1/approvals": answer(200, wire.Page[wire.Approval]{})})
	contains(t, dormouse(t, empty, "approvals").stdout, "no waiting calls")
}

func TestMessages(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{
		"GET /v1/threads/thr_x7/messages": answer(200, wire.Page[wire.Message]{Items: []wire.Message{
			{Role: "user", Text: "Refund A-17"},
			{Role: "assistant", Text: "I look.", ToolCalls: []wire.ToolCall{{ID: "c1", Name: "lookup_order", Arguments: json.RawMessage(`{"order":"A-17"}`)}}},
			{Role: "tool", Tool: "lookup_order", CallID: "c1", Text: "no such order", Error: true},
		}}),
		"POST /v1/threads/thr_x7/messages": answer(202, run("running")),
		"GET /v1/runs/" + runID:            answer(200, run("running")),
	})
	out := dormouse(t, s, "messages", "thr_x7")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "Refund A-17", `calls lookup_order {"order":"A-17"}`, "lookup_order failed")

	asRun := dormouse(t, s, "messages", runID)
	asRun.wantExit(t, cmdline.ExitOK)
	if asRun.stdout != out.stdout {
		t.Errorf("a run should show its thread:\n%s", asRun.stdout)
	}

	out = dormouse(t, s, "messages", "thr_x7", "And B-02", "--on-pending", "queue", "--key", "m1")
	out.wantExit(t, cmdline.ExitOK)
	sent := s.last("POST")
	contains(t, string(sent.body), `"And B-02"`, `"queue"`)
	if sent.key != "m1" {
		t.Errorf("key %q, want m1", sent.key)
	}
}

// log answers requests for events as the server would: what is behind the cursor, as a stream or as
// a page. The run rests at the end.
func log(types ...string) http.HandlerFunc {
	var events []wire.Event
	for i, kind := range types {
		events = append(events, wire.Event{Seq: int64(i + 1), Type: kind, Data: json.RawMessage(`{"status":"waiting"}`)})
	}
	return logOf(events...)
}

func logOf(events ...wire.Event) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") == "end" {
			answer(200, wire.EventPage{Items: []wire.Event{}, Next: "end", Done: true, Waiting: true})(w, r)
			return
		}
		if r.Header.Get("Accept") != "text/event-stream" {
			answer(200, wire.EventPage{Items: events, Next: "end"})(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			e.Cursor = "end"
			body, err := json.Marshal(e)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(w, "id: end\ndata: %s\n\n", body)
		}
	}
}

func TestWatch(t *testing.T) {
	const events = "GET /v1/runs/" + runID + "/events"
	const state = "GET /v1/runs/" + runID
	t.Run("shows every event, one JSON value a line", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{state: answer(200, run("waiting", pending("sus_1_a"))), events: log("turn.started", "call.suspended")})
		out := dormouse(t, s, "watch", runID, "--json")
		out.wantExit(t, cmdline.ExitOK)
		var kinds []string
		for line := range strings.Lines(out.stdout) {
			var e wire.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			kinds = append(kinds, e.Type)
		}
		if diff := cmp.Diff([]string{"turn.started", "call.suspended"}, kinds); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	t.Run("says how to answer what the run waits for", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{state: answer(200, run("waiting", pending("sus_1_a"))), events: log("call.suspended")})
		out := dormouse(t, s, "watch", runID)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "approval of issue_refund", "dormouse decide "+runID+" sus_1_a --approve")
	})
	t.Run("goes on through a wait if told to", func(t *testing.T) {
		asked := make(chan string, 8)
		s := newServer(t, map[string]http.HandlerFunc{state: answer(200, run("done", done("natural_end"))),
			events: func(w http.ResponseWriter, r *http.Request) {
				asked <- r.URL.Query().Get("follow")
				log("turn.started")(w, r)
			}})
		out := dormouse(t, s, "watch", runID, "--follow")
		out.wantExit(t, cmdline.ExitOK)
		if got := <-asked; got != "true" {
			t.Errorf("the stream was asked for with follow=%q", got)
		}
	})
	t.Run("fails when the run ended in error", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{state: answer(200, run("done", done("error"))), events: log("run.status")})
		dormouse(t, s, "watch", runID).wantExit(t, cmdline.ExitFailed)
	})
	t.Run("what the run says never reaches the terminal as it is", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{state: answer(200, run("done", done("natural_end"))),
			events: logOf(wire.Event{Seq: 1, Type: "text.ended", Data: json.RawMessage(`{"text":"a\u001b[2Jb\u202ec"}`)})})
		out := dormouse(t, s, "watch", runID)
		contains(t, out.stdout, `a\x1b[2Jb\u202ec`)
	})
}

func TestAPlaceholderIsLeftOutOnceTheResultIsThere(t *testing.T) {
	waits := wire.Message{Role: "tool", Tool: "locate", CallID: "c1", Text: "waits", Pending: true}
	other := wire.Message{Role: "tool", Tool: "locate", CallID: "c2", Text: "waits", Pending: true}
	result := wire.Message{Role: "tool", Tool: "locate", CallID: "c1", Text: "Rome"}
	want := [][]string{{"locate waiting", "waits"}, {"locate", "Rome"}}
	if diff := cmp.Diff(want, runs.Transcript([]wire.Message{waits, other, result})); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestApprovalLinks(t *testing.T) {
	made := wire.Link{ID: "lnk_1", RunID: runID, Suspension: "sus_1_a", Tool: "issue_refund", For: "anna@example.com", CreatedBy: "token:mailer", Link: "/v1/approvals/s3cret"}
	revoked := made
	revoked.Link, revoked.RevokedAt = "", &wire.Time{}
	ends := func(year int) wire.Link {
		l := made
		l.Link, l.ExpiresAt = "", wire.Time{Time: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)}
		return l
	}
	s := newServer(t, map[string]http.HandlerFunc{
		"GET /v1/runs/" + runID:                     answer(200, run("waiting", pending("sus_1_a"))),
		"POST /v1/runs/" + runID + "/links":         answer(201, made),
		"GET /v1/runs/" + runID + "/links":          answer(200, wire.Page[wire.Link]{Items: []wire.Link{revoked, ends(2020), ends(2999)}}),
		"DELETE /v1/runs/" + runID + "/links/lnk_1": answer(200, revoked),
	})
	for name, args := range map[string][]string{"the only one": {runID}, "a named one": {runID, "sus_1_a"}} {
		out := dormouse(t, s, append([]string{"approvals", "link", "--for", "anna@example.com", "--expires-in", "4h"}, args...)...)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "/v1/approvals/s3cret", "anna@example.com", "dormouse approvals revoke "+runID+" lnk_1")
		if sent := string(s.last("POST").body); sent != `{"target":"sus_1_a","for":"anna@example.com","expires_in":14400}` {
			t.Errorf("%s: sent %s", name, sent)
		}
	}
	out := dormouse(t, s, "approvals", "links", runID)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "lnk_1", "anna@example.com", "token:mailer", "issue_refund", "revoked -", "2020-01-01 00:00:00Z  expired", "2999-01-01 00:00:00Z  open")
	out = dormouse(t, s, "approvals", "revoke", runID, "lnk_1")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "revoked: lnk_1 for anna@example.com")
	for _, args := range [][]string{{"link", runID}, {"link", runID, "--for", "anna", "--expires-in", "-1s"}, {"link", runID, "--for", "anna", "--expires-in", "1500ms"}, {"revoke", runID}} {
		dormouse(t, s, append([]string{"approvals"}, args...)...).wantExit(t, cmdline.ExitUsage)
	}
}
