package notify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
	"github.com/dormouse-dev/dormouse/internal/text/title"
)

// Summary is a notice for people, for formats that show text. Invisible characters are spelled out
// in it, but the markup that others wrote is still there: each format escapes it in its own way.
type Summary struct {
	Title string // one line
	Facts []Fact
	Texts []Passage
	Links *client.NoticeLinks
	Hint  string // what to do without links; empty if there is nothing to do
	// not all of what an approval is about is in Facts and Texts
	Cut bool
}

// Fact is a short text on one line.
type Fact struct{ Label, Text string }

// Passage is a text of several lines.
type Passage struct {
	Label, Text string
	Code        bool // values, to show as they are
}

// mostPassage is how many bytes of one text a person is sent; the page of a link has all of it.
const mostPassage = 2500

// Summarize says in words what a notice is about.
func Summarize(n client.Notice) Summary {
	s := Summary{Links: n.Links}
	switch n.Type {
	case client.NoticeDecided:
		s.decided(n)
	case client.NoticeTest:
		s.Title = "Test of this endpoint"
		s.Hint = "It works. There is nothing to do."
	case client.NoticeDone, client.NoticeFailed:
		s.ended(n)
	default:
		s.asks(n)
	}
	if n.Error != nil {
		s.pass("Incomplete", n.Error.Detail, false)
	}
	s.fact("Run", n.Event.RunID)
	return s
}

// asks tells what an approver needs: what the call does first, then why.
func (s *Summary) asks(n client.Notice) {
	a := n.Approval
	if a == nil {
		s.Title = "A call was waiting"
		s.Hint = "It no longer waits, or it can't be read now."
		s.agent(n.Run)
		return
	}
	what := "Approval needed"
	if a.Kind != client.KindApproval {
		what = "Answer needed"
	}
	question := question(*a)
	s.Title = occasion(n) + what + ": " + cmp.Or(question, line(cmp.Or(a.Tool, "may the run go on?")))
	s.fact("Agent", a.Agent)
	if question != "" && a.Agent != ask.Agent {
		s.fact("Tool", a.Tool)
	}
	if a.StartedBy != nil {
		s.fact("Started by", actor(*a.StartedBy))
	}
	if a.Deadline != nil {
		s.fact("Answer by", a.Deadline.UTC().Format(time.DateTime+" UTC"))
	}
	if a.Tool != "" { // else the run itself asks
		s.arguments(a.Pending)
	}
	if a.Preview != nil {
		s.needs("Preview", a.Preview.Text+a.Preview.Failed, false)
	}
	s.needs("Rule", a.Suspension.Message, false)
	s.Cut = s.Cut || n.Error != nil || slices.ContainsFunc(n.Truncated, func(name string) bool { return strings.HasPrefix(name, "approval.") })
	if last := len(a.Requests) - 1; last >= 0 {
		r := a.Requests[last]
		s.pass("Request "+strings.TrimSpace("by "+actor(client.Actor{By: r.By, Via: r.Via})), r.Text, false)
	}
	s.pass("The model says", a.Said, false)
	if n.Links == nil {
		s.Hint = "Answer it in your inbox, or with the API."
	}
}

// longestQuestion is how many characters of a title begin a notice. The header of a message of
// Slack takes little more.
const longestQuestion = 100

// question is what the author of an ask or of a tool asks; empty if there is no such text, or if it
// would be cut within the words of a tool.
func question(a client.Approval) string {
	if a.Agent == ask.Agent && len(a.Requests) > 0 {
		return clip.Runes(printable.Text(a.Requests[len(a.Requests)-1].Text), longestQuestion, "…")
	}
	if a.ToolDetails == nil {
		return ""
	}
	parts := make([]title.Part, len(a.ToolDetails.Title))
	for i, part := range a.ToolDetails.Title {
		parts[i] = title.Part(part)
	}
	if text := title.Line(parts); utf8.RuneCountInString(text) <= longestQuestion {
		return text
	}
	return ""
}

// occasion is why people are told of a call that they may have been told of before.
func occasion(n client.Notice) string {
	switch core.EventType(n.Event.Type) {
	case core.EventCallReminded:
		return "Reminder: "
	case core.EventCallEscalated:
		return "Escalation: "
	case core.EventCallDeadlineNear:
		return "Deadline near: "
	}
	return ""
}

// arguments shows each value on a line, and warns of what is easy to overlook.
func (s *Summary) arguments(p client.Pending) {
	if len(p.Arguments) == 0 {
		s.pass("Arguments", "They are too long for this message. Read them before you answer.", false)
		s.Cut = true
		return
	}
	var lines, warnings []string
	for _, row := range printable.TerminalRows(p.Arguments) {
		lines = append(append(lines, row.First), row.Further...)
	}
	s.needs("Arguments", strings.Join(lines, "\n"), true)
	for _, w := range p.Warnings {
		warnings = append(warnings, w.Path+": "+w.Text)
	}
	s.needs("Look closely", strings.Join(warnings, "\n"), false)
}

func (s *Summary) decided(n client.Notice) {
	var d client.DecisionRecordedData
	_ = json.Unmarshal(n.Event.Data, &d) // what is left out of it is not shown
	switch {
	case core.EventType(n.Event.Type) == core.EventCallCancelled:
		s.Title = "No answer is needed any more"
	case d.Silent:
		s.Title = "Approved, because no one answered in time"
	case d.TimedOut:
		s.Title = "Deadline passed"
	case d.Via == "message":
		s.Title = "A message ended the wait"
	case d.Action == "cancel":
		s.Title = "Denied"
	case d.Error != "":
		s.Title = "Answered with an error"
	default:
		s.Title = "Approved"
	}
	s.agent(n.Run)
	s.fact("By", actor(client.Actor{By: d.By, Via: d.Via}))
	s.fact("Call", d.CallID)
	s.pass("Reason", d.Reason, false)
	s.pass("Error", d.Error, false)
}

func (s *Summary) ended(n client.Notice) {
	var end client.RunEndedData
	_ = json.Unmarshal(n.Event.Data, &end)
	s.Title = "Run ended: " + line(strings.ReplaceAll(end.Reason, "_", " "))
	if n.Type == client.NoticeFailed {
		s.Title = "Run failed: " + line(strings.ReplaceAll(end.Reason, "_", " "))
	}
	s.agent(n.Run)
	s.fact("Code", end.Code)
	s.pass("Detail", end.Detail, false)
	if n.Run == nil {
		return
	}
	s.fact("Tokens", fmt.Sprintf("%d in, %d out", n.Run.Usage.InputTokens, n.Run.Usage.OutputTokens))
	if text, is := n.Run.OutputText(); is {
		s.pass("Output", text, false)
	}
}

func (s *Summary) agent(r *client.Run) {
	if r != nil {
		s.fact("Agent", r.Agent)
		s.fact("Request", r.FirstLine)
	}
}

// longestLine is how many characters of a line are shown.
const longestLine = 200

func line(text string) string { return clip.Runes(printable.Text(text), longestLine, "…") }

func (s *Summary) fact(label, text string) {
	if text != "" {
		s.Facts = append(s.Facts, Fact{label, line(text)})
	}
}

// needs adds a text that an approver has to see in full.
func (s *Summary) needs(label, text string, code bool) {
	s.Cut = s.Cut || len(text) > mostPassage
	s.pass(label, text, code)
}

// pass adds a text, unless it is empty.
func (s *Summary) pass(label, text string, code bool) {
	if strings.TrimSpace(text) == "" {
		return
	}
	lines := strings.Split(clip.Bytes(text, mostPassage, "…\n(cut here; there is more)"), "\n")
	for i := range lines {
		lines[i] = printable.Text(lines[i])
	}
	s.Texts = append(s.Texts, Passage{line(label), strings.Join(lines, "\n"), code})
}

func actor(a client.Actor) string {
	switch {
	case a.By == "":
		return a.Via
	case a.Via == "" || strings.HasPrefix(a.By, a.Via):
		return a.By
	}
	return a.By + ", by " + a.Via
}
