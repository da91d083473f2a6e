package inbox

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// asked is a call with everything that an approver is shown.
func asked(kind, mode string) wire.Approval {
	return wire.Approval{RunID: "run_1", Agent: "desk", AgentVersion: "sha256:12", Metadata: json.RawMessage(`{"ticket":"T-7"}`),
		StartedBy: &wire.Actor{By: "shop", Via: "api"}, Pending: wire.Pending{CallID: "c1", Tool: "set_dns", Kind: kind, ResumeMode: mode,
			Arguments: json.RawMessage(`{"to":"192.0.2.99"}`), Suspension: wire.Suspension{ID: "sus_1", Message: "DNS needs approval."},
			Requests:    []wire.Request{{Text: "It is for Ann", By: "eve", Via: "queue"}, {Text: "Move the site", Cut: true, Files: 2, By: "bob", Via: "api"}},
			RequestsCut: true, Said: "I'll point it at the new host.",
			ToolDetails: &wire.ToolDetails{Description: "Changes a record.", Kind: "http", Target: "POST dns.example.com"}, Fingerprint: "v1:ab",
			Preview: &wire.Preview{Text: "192.0.2.20 → 192.0.2.99"}, GrantScope: "Also approves more.", NotBy: "starter", Approvers: []string{"token:anna", "role:admin"}}}
}

func TestEveryPlaceThatAsksShowsWhoWantsWhat(t *testing.T) {
	want := []string{"192.0.2.20 → 192.0.2.99", "Move the site", "the text continues", "token:anna, role:admin", "they may only deny", "2 came with it", "bob via api", "It is for Ann", "eve via queue", "earlier messages are not shown", "shop via api", "I'll point it",
		"Changes a record.", "HTTP request to POST dns.example.com", "sha256:12", "T-7", "Also approves more.", "DNS needs approval."}
	item := asked("approval", "replay_tool_call")
	var out bytes.Buffer
	a := &app{&cmdline.App{Stdout: &out, Opts: cmdline.Options{Getenv: func(string) string { return "" }, Now: func() time.Time { return began }}}}
	if err := a.printApprovals(client.ApprovalFilter{}, wire.InboxPage{Items: []wire.Approval{item}}); err != nil {
		t.Fatal(err)
	}
	var inbox strings.Builder
	for _, l := range details(item, nil, began) {
		inbox.WriteString(l.String() + "\n")
	}
	for place, got := range map[string]string{"approvals": out.String(), "inbox": inbox.String()} {
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s does not show %q:\n%s", place, w, got)
			}
		}
	}
}

// TestNoLabelTouchesItsText covers labels as wide as "started by": a label that touches a model's
// words reads as one of them.
func TestNoLabelTouchesItsText(t *testing.T) {
	item := asked("approval", "replay_tool_call")
	var all strings.Builder
	for _, l := range details(item, nil, began) {
		all.WriteString(l.String() + "\n")
	}
	for _, want := range []string{"started by  shop via api", "model said  I'll point it"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is missing:\n%s", want, all.String())
		}
	}
}

// TestAnAskIsCalledByItsTitle everywhere; no other agent can put words in the place of its tool.
func TestAnAskIsCalledByItsTitle(t *testing.T) {
	item := waits(1, "approval")
	item.Agent, item.Tool, item.CallID, item.Requests = "dormouse-ask", "ask", "ask", []wire.Request{{Text: "Deploy 4.2?\n{}\u202e"}}
	other := item
	other.Agent = "desk"
	for _, tt := range []struct {
		item              wire.Approval
		list, inbox, edit string
	}{
		{item, `approval of: Deploy 4.2? {}<U+202E>` + "\n", `Deploy 4.2? {}<U+202E>`, "will be approved with edited arguments:"},
		{other, `approval of ask {"order":"A-1","amount":120}` + "\n", "ask order=A-1", "ask will run with edited arguments:"},
	} {
		var out bytes.Buffer
		a := &app{&cmdline.App{Stdout: &out, Opts: cmdline.Options{Getenv: func(string) string { return "" }, Now: func() time.Time { return began }}}}
		if err := a.printApprovals(client.ApprovalFilter{}, wire.InboxPage{Items: []wire.Approval{tt.item}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), tt.list) || !strings.Contains(out.String(), "A-1") {
			t.Errorf("approvals of %s:\n%s", tt.item.Agent, out.String())
		}
		if shown := walks(t, tt.item).draws(); !strings.Contains(shown, tt.inbox) {
			t.Errorf("the inbox of %s:\n%s", tt.item.Agent, shown)
		}
		out.Reset()
		if err := a.printEdits(waiting{tt.item.Agent, tt.item.Pending}, json.RawMessage(`{"order":"A-2"}`)); err != nil || !strings.HasPrefix(out.String(), tt.edit) {
			t.Errorf("an edit for %s:\n%s", tt.item.Agent, out.String())
		}
	}
}

// TestTheInboxOffersNoEditWhereTheRunAsksToGoOn: no tool is behind such a question.
func TestTheInboxOffersNoEditWhereTheRunAsksToGoOn(t *testing.T) {
	item := waits(1, "approval")
	item.Tool, item.Arguments, item.Suspension.Message = "", json.RawMessage(`{}`), "This run has cost $0.65."
	p := walks(t, item)
	if shown := p.draws(); !strings.Contains(shown, "refund-desk  This run has cost $0.65.") {
		t.Errorf("the list doesn't say what is asked:\n%s", shown)
	}
	if did := p.types("j\re"); did != nothing {
		t.Errorf("e edits: %v", did)
	}
	if keys := p.inbox.keys(); keys != "y approve  n deny  o events  q back" {
		t.Errorf("it offers %q", keys)
	}
}

// TestAPreviewStandsWithTheArguments: what a tool found is not labelled as what will be, and edits
// say that it doesn't know them.
func TestAPreviewStandsWithTheArguments(t *testing.T) {
	item := asked("approval", "replay_tool_call")
	item.Preview = &wire.Preview{Text: `{"ip":"192.0.2.20"}`, Tool: "get_dns"}
	for _, edited := range [][]byte{nil, []byte(`{"to":"192.0.2.7"}`)} {
		var all strings.Builder
		for _, l := range details(item, edited, began) {
			all.WriteString(l.String() + "\n")
		}
		found, who := strings.Index(all.String(), `current     {"ip":"192.0.2.20"}`), strings.Index(all.String(), "background")
		if found < 0 || who < found || strings.Contains(all.String(), "before the edit") != (edited != nil) {
			t.Errorf("edited %s:\n%s", edited, all.String())
		}
	}
}

// TestNothingThatDoesNotRunIsSaidToRun holds each resume mode to its own words.
func TestNothingThatDoesNotRunIsSaidToRun(t *testing.T) {
	for _, tt := range []struct{ kind, mode, heading, keys, answers string }{
		{"approval", "replay_tool_call", "set_dns would run with", "y approve", "--approve"},
		{"approval", "pass_decision_to_tool", "set_dns would run with your answer and", "y approve", "--approve"},
		{"approval", "use_decision_as_tool_result", "set_dns does not run; your answer is its result.", "r give the result", "--result JSON"},
		{"unknown_outcome", "replay_tool_call", "set_dns may have run with", "r it happened: result", "--result JSON"},
		{"client", "use_decision_as_tool_result", "set_dns was called with", "r result", "--result JSON"},
	} {
		item := asked(tt.kind, tt.mode)
		m := &inbox{item: item, place: atDetails, now: began}
		a := &app{&cmdline.App{}}
		var inbox strings.Builder
		for _, l := range details(item, nil, began) {
			inbox.WriteString(l.String() + "\n")
		}
		var answers strings.Builder
		for _, w := range a.Answers("run_1", item.Pending) {
			answers.WriteString(w.Command + "\n")
		}
		if !strings.Contains(inbox.String(), tt.heading) || !strings.Contains(m.keys(), tt.keys) || !strings.Contains(answers.String(), tt.answers) {
			t.Errorf("%s, %s: %q, %q\n%s", tt.kind, tt.mode, m.keys(), answers.String(), inbox.String())
		}
		runs := strings.Contains(inbox.String(), "would run") || strings.Contains(answers.String(), "--approve")
		if may := strings.HasSuffix(tt.heading, "would run with") || tt.mode == "pass_decision_to_tool" || tt.kind == "unknown_outcome"; runs != may {
			t.Errorf("%s, %s: it is offered to run: %v\n%s", tt.kind, tt.mode, runs, answers.String())
		}
	}
}

// TestTheInboxAnswersTheQuestionThatItShows: its decisions carry the fingerprint, in every kind of
// answer.
func TestTheInboxAnswersTheQuestionThatItShows(t *testing.T) {
	for _, tt := range []struct {
		mode string
		char rune
	}{{"replay_tool_call", 'y'}, {"replay_tool_call", 'n'}, {"use_decision_as_tool_result", 'r'}} {
		m := &inbox{item: asked("approval", tt.mode), place: atDetails, now: began}
		m.answer(tt.char)
		if m.draft.Shown != "v1:ab" || m.draft.ShownBy != renderer || m.place == atDetails {
			t.Errorf("%c leads to %+v", tt.char, m.draft)
		}
	}
	m := &inbox{item: asked("approval", "use_decision_as_tool_result"), place: atDetails, now: began}
	if m.answer('y'); m.place != atDetails {
		t.Error("a call that takes a result was approved without one")
	}
}

// An approver who edits must not take the preview for one of the edited arguments.
func TestAnEditSaysThatThePreviewIsOfWhatWasBefore(t *testing.T) {
	const note = "(for the arguments before the edit)"
	shown := func(edited []byte) string {
		var b strings.Builder
		for _, l := range details(asked("approval", "replay_tool_call"), edited, began) {
			b.WriteString(l.String() + "\n")
		}
		return b.String()
	}
	if !strings.Contains(shown([]byte(`{"to":"192.0.2.7"}`)), note) || strings.Contains(shown(nil), note) {
		t.Error("it is not said of an edit, or of a call without one")
	}
}

// TestARowSaysForWhomACallOfAChildIs: the row has the first and the last agent, the details all of
// them, and the run that began it all.
func TestARowSaysForWhomACallOfAChildIs(t *testing.T) {
	a := waits(1, "approval")
	a.Agent, a.Path = "searcher", []wire.PathStep{{RunID: "run_r_0", Agent: "desk"}, {RunID: "run_c_0", CallID: "call_1", Agent: "researcher"}, {RunID: "run_1", CallID: "call_2", Agent: "searcher"}}
	p := walks(t, a)
	if got := p.draws(); !strings.Contains(got, "desk › … › searcher  pay order=A-1 amount=120") {
		t.Errorf("the list is\n%s", got)
	}
	p.types("j\r")
	for _, want := range []string{"path        desk › researcher/call_1 › searcher/call_2", "root        run_r_0"} {
		if got := p.draws(); !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// The title has the values that the model asked for. Beside edited arguments, it would mislead.
func TestAnEditHidesTheTitleOfWhatWasBefore(t *testing.T) {
	a := asked("approval", "replay_tool_call")
	a.ToolDetails = &wire.ToolDetails{Title: []wire.TitlePart{{Text: "Pay "}, {Text: "Ann", Argument: "to"}, {Text: "?"}}}
	shown := func(edited []byte) string {
		var b strings.Builder
		for _, l := range details(a, edited, began) {
			b.WriteString(l.String() + "\n")
		}
		return b.String()
	}
	if !strings.Contains(shown(nil), `Pay "Ann"?`) || strings.Contains(shown([]byte(`{"to":"Bert"}`)), `Pay "Ann"?`) {
		t.Errorf("it is shown of an edit, or not of the call: %s", shown(nil))
	}
	if !strings.Contains(wanted(a), `Pay "Ann"?`) {
		t.Error(wanted(a))
	}
}
