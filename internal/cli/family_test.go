package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const childID = "run_c1_0"

// below is a call of a run below the shown one, each of the agents calling the next.
func below(sus string, agents ...string) wire.Pending {
	p := wire.Pending{CallID: "call_9", Tool: "buy_report", Kind: "approval", Suspension: wire.Suspension{ID: sus}}
	for i, agent := range agents {
		p.Path = append(p.Path, wire.PathStep{RunID: []string{childID, "run_c2_0"}[i], CallID: []string{"call_1", "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q"}[i], Agent: agent})
	}
	return p
}

func parent(r *wire.Run) {
	r.Children = []wire.ChildRun{{RunID: childID, Agent: "researcher", CallID: "call_1", Status: "waiting"}, {RunID: "run_d1_0", Agent: "researcher", CallID: "call_2", Status: "running"}}
	r.Usage.Total = &wire.TreeUsage{Runs: 3, InputTokens: 900, OutputTokens: 40, Cost: &wire.Cost{USD: "0.02"}}
}

func TestARunShowsTheRunsBelowIt(t *testing.T) {
	shown := run("waiting", parent, func(r *wire.Run) { r.Pending = []wire.Pending{below("sus_1_a", "researcher")} })
	out := dormouse(t, newServer(t, map[string]http.HandlerFunc{readRun: answer(200, shown)}), "runs", runID)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, squeezed(out.stdout), "in total 3 runs, 900 in, 40 out, $0.02\n", "children run_c1_0 researcher/call_1 waiting, asks 1\n run_d1_0 researcher/call_2 running\n",
		"path refund-desk › researcher/call_1\n", "decide "+runID+" sus_1_a --approve\n")
	child := run("waiting", func(r *wire.Run) { r.Parent = &wire.ParentRun{RunID: "run_p_0", CallID: "call_1"} })
	out = dormouse(t, newServer(t, map[string]http.HandlerFunc{readRun: answer(200, child)}), "runs", runID)
	contains(t, squeezed(out.stdout), "works for run_p_0 call_1\n")
}

func TestARunShowsItsRemoteAgent(t *testing.T) {
	next := wire.Millis(1_795_228_124_000)
	for _, tt := range []struct {
		task wire.RemoteTask
		want string
	}{
		{wire.RemoteTask{Tool: "review"}, "remote agent review\n"},
		{wire.RemoteTask{Tool: "review", TaskID: "task-4\x1b[2J", URL: "https://r.example.com", NextLookAt: &next}, "remote agent review, task task-4<U+001B>[2J at https://r.example.com, asked again at 2026-11-21 02:28:44Z\n"},
		{wire.RemoteTask{Tool: "review", TaskID: "task-4", UnansweredSince: &next, StopAttempts: 2}, "remote agent review, task task-4, no answer since 2026-11-21 02:28:44Z, 2 attempts to stop it\n"},
	} {
		shown := run("running", func(r *wire.Run) { r.Remote = &tt.task })
		out := dormouse(t, newServer(t, map[string]http.HandlerFunc{readRun: answer(200, shown)}), "runs", runID)
		contains(t, squeezed(out.stdout), tt.want)
	}
}

// squeezed has one blank for several.
func squeezed(text string) string { return blanks.ReplaceAllString(text, " ") }

func TestTheInboxSaysForWhomACallIs(t *testing.T) {
	item := wire.Approval{RunID: "run_c2_0", Agent: "searcher", Pending: below("sus_1_a", "researcher", "searcher")}
	item.Path = append([]wire.PathStep{{RunID: runID, Agent: "refund-desk"}}, item.Path...)
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/approvals": answer(200, wire.Page[wire.Approval]{Items: []wire.Approval{item}})})
	out := dormouse(t, s, "approvals")
	contains(t, squeezed(out.stdout), "run run_c2_0\n", "path refund-desk › researcher/call_1 › searcher/…5GIl7Q\n", "root "+runID+"\n", "decide run_c2_0 sus_1_a --approve\n")
	contains(t, dormouse(t, s, "approvals", "--json").stdout, `"path":[{"run_id":"`+runID+`","agent":"refund-desk"},{"run_id":"run_c1_0","call_id":"call_1","agent":"researcher"},`)
}

// TestACallOfAChildIsDecidedAtItsRoot: with several, the error names for whom each is.
func TestACallOfAChildIsDecidedAtItsRoot(t *testing.T) {
	one := run("waiting", parent, func(r *wire.Run) { r.Pending = []wire.Pending{below("sus_1_a", "researcher")} })
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, one), decisions: answer(202, wire.DecisionAnswer{Status: 202, Code: "accepted", Target: "sus_1_a"})})
	dormouse(t, s, "decide", runID, "--approve").wantExit(t, cmdline.ExitOK)
	contains(t, string(s.last("POST").body), `"target":"sus_1_a"`)
	two := run("waiting", parent, func(r *wire.Run) { r.Pending = append(one.Pending, below("sus_2_b", "researcher", "searcher")) })
	out := dormouse(t, newServer(t, map[string]http.HandlerFunc{readRun: answer(200, two)}), "decide", runID, "--approve")
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, "sus_1_a (buy_report of researcher/call_1), sus_2_b (buy_report of researcher/call_1 › searcher/…5GIl7Q)")
}

// TestAPausedChildIsResumedItself: to resume the run above would resume all of it.
func TestAPausedChildIsResumedItself(t *testing.T) {
	paused := below("sus_1_a", "researcher")
	paused.Kind, paused.Tool = "interrupt", ""
	shown := run("waiting", parent, func(r *wire.Run) { r.Pending = []wire.Pending{paused} })
	out := dormouse(t, newServer(t, map[string]http.HandlerFunc{readRun: answer(200, shown)}), "runs", runID)
	contains(t, out.stdout, "dormouse resume "+childID+"\n", "dormouse runs cancel "+childID+"\n")
}

// TestARunThatWaitsForRunsAloneIsNotAtRest: run --wait reads it again until it needs an answer.
func TestARunThatWaitsForRunsAloneIsNotAtRest(t *testing.T) {
	answers := started(run("done", done("natural_end")))
	answers[readRun] = inTurn(answer(200, run("waiting", parent)), answer(200, run("waiting", parent)), answer(200, run("done", done("natural_end"))))
	out := dormouse(t, newServer(t, answers), "run", "refund-desk", "Refund A-17", "--wait")
	out.wantExit(t, cmdline.ExitOK)
	if !strings.Contains(squeezed(out.stdout), "status done") {
		t.Errorf("it shows\n%s", out.stdout)
	}
}
