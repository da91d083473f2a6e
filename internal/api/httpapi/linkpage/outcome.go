package linkpage

import (
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// What a page says above an answer that could not be taken back, above the question after a copy of
// such an answer was sent, and above one that is not what its form was drawn for.
const (
	TooLate = "It was too late to undo your answer."
	Changed = "This has changed since you read it. Nothing was stored; please read it again."
	Spent   = "This answer was taken back before. Nothing was stored; answer on this page."
)

// Outcome says what became of a call: who answered what and when, that time ran out, or that the
// question is gone. While the answer is held, it can be taken back. The HTML below it, such as
// links, is the caller's.
func Outcome(o wire.Outcome, u Undo, above, below string) string {
	var b strings.Builder
	b.WriteString("<main>\n")
	if above != "" {
		fmt.Fprintf(&b, "<p><strong>%s</strong></p>\n", shown(above))
	}
	switch o.State {
	case query.OutcomeAnswered:
		answeredOutcome(&b, o, u)
	case query.OutcomeTimedOut:
		timedOutOutcome(&b, o)
	default:
		fmt.Fprintf(&b, "<h1>No decision is needed any more</h1>\n<p>The run ended or continued without a decision. %s did not run because of this question.</p>\n", within(o.Tool))
	}
	fmt.Fprintf(&b, "<dl><dt>Tool</dt><dd>%s</dd><dt>Agent</dt><dd>%s</dd><dt>Run</dt><dd>%s</dd></dl>\n%s</main>\n", within(o.Tool), within(o.Agent), shown(o.RunID), below)
	return b.String()
}

func answeredOutcome(b *strings.Builder, o wire.Outcome, u Undo) {
	if o.AppliesAt != nil {
		var m markup
		held(&m, o, u)
		fmt.Fprintf(b, "%s\n<p>Answered by %s on %s.</p>\n", m.String(), answerer(o.Decision), moment(o.Decision.At))
		reasonOf(b, o)
		return
	}
	said := "Yes"
	switch {
	case o.Decision.Error != "":
		said = "With an error"
	case o.Decision.Action == "cancel":
		said = "No"
	case isResult(o):
		said = "With a result"
	}
	fmt.Fprintf(b, "<h1>Answered: %s</h1>\n<p>Answered by %s on %s.</p>\n", said, answerer(o.Decision), moment(o.Decision.At))
	reasonOf(b, o)
	fmt.Fprintf(b, "<p>%s</p>\n", consequence(o))
}

func reasonOf(b *strings.Builder, o wire.Outcome) {
	if o.Decision.Reason != "" {
		fmt.Fprintf(b, "<p>Reason: %s</p>\n", within(o.Decision.Reason))
	}
}

func timedOutOutcome(b *strings.Builder, o wire.Outcome) {
	b.WriteString("<h1>Time ran out</h1>\n")
	if o.Deadline != nil {
		fmt.Fprintf(b, "<p>There was no decision before the deadline, %s.</p>\n", moment(*o.Deadline))
	}
	fmt.Fprintf(b, "<p>%s</p>\n", consequence(o))
}

// within is text of others in a sentence of the page: it reorders nothing around it.
func within(text string) string { return "<bdi>" + shown(text) + "</bdi>" }

// answerer is who answered, in words, as HTML.
func answerer(d *wire.OutcomeDecision) string {
	kind, name, _ := strings.Cut(d.By, ":")
	switch {
	case d.By == "":
		return "a caller of the API"
	case kind == "link":
		return within(name) + ", by a link"
	case kind == "token":
		return within(name)
	}
	return within(d.By)
}

// isResult says whether an answer other than a no is the call's result, and the tool doesn't run.
func isResult(o wire.Outcome) bool { return o.ResumeMode == core.UseDecisionAsToolResult.String() }

// consequence is what followed by itself, as HTML.
func consequence(o wire.Outcome) string {
	tool := within(o.Tool)
	switch d := o.Decision; {
	case d == nil && o.State == query.OutcomeTimedOut:
		return tool + " did not run. The run continues as its agent defines."
	case d.Applied != nil && !*d.Applied:
		return "The decision had no effect: the run was cancelled first."
	case o.State == query.OutcomeTimedOut && d.Action == "cancel":
		return "The call was cancelled: " + tool + " did not run."
	case o.State == query.OutcomeTimedOut && d.Silent:
		return "The policy approves then. " + ended(o)
	case o.State == query.OutcomeTimedOut:
		return "The call failed: " + tool + " did not run."
	case d.Action == "cancel" || d.Error != "":
		return tool + " did not run."
	}
	if isResult(o) {
		return tool + " did not run. The answer is the result of the call."
	}
	return ended(o)
}

// ended is how a call that was let run ended, as HTML.
func ended(o wire.Outcome) string {
	switch o.Call {
	case "succeeded":
		return "The call succeeded."
	case "failed":
		return "The call failed."
	case "cancelled":
		return "The call was cancelled afterwards."
	case "suspended":
		return within(o.Tool) + " needs another decision, in a separate request."
	}
	return "The decision is recorded; the call has not finished yet."
}

func moment(t wire.Time) string { return t.UTC().Format(time.DateTime + " UTC") }

// Refused is for a link, or an answer, that is not taken. Of a link that is dead it tells nothing
// but that. back is the address of the question; "" if it is not known.
func Refused(title, detail, back string) string {
	if detail != "" {
		detail = strings.ToUpper(detail[:1]) + detail[1:] + "."
	}
	if back != "" {
		back = `<p><a href="` + shown(back) + `">Back to the question</a></p>`
	}
	return fmt.Sprintf("<main><h1>%s</h1>\n<p>%s</p>%s</main>\n", shown(title), shown(detail), back)
}
