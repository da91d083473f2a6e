package inbox

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// view is the whole screen, line by line.
func (m *inbox) view() []display.Line {
	head := display.Line{{Style: display.Bold, Text: m.program + " approvals"}, {Style: display.Faint, Text: "  " + m.headline()}}
	lines := []display.Line{head.Cut(m.width), nil}
	if m.place == atList {
		lines = append(lines, m.rows()...)
	} else {
		body := m.body()
		lines = append(lines, body[min(m.top, len(body)):min(m.top+m.room(), len(body))]...)
	}
	for len(lines) < m.height-m.feet() {
		lines = append(lines, nil)
	}
	return append(lines, m.foot()...)
}

func (m *inbox) headline() string {
	switch {
	case !m.loaded:
		return "loading..."
	case m.place == atEvents:
		return "events of " + m.item.RunID
	case m.place != atList:
		return ""
	case len(m.items) == 0:
		return "no waiting calls"
	case m.more:
		return fmt.Sprintf("the %d oldest calls", len(m.items))
	case len(m.items) == 1:
		return "1 waiting call"
	}
	return fmt.Sprintf("%d waiting calls", len(m.items))
}

// feet is the number of lines below the body: an empty line, the question with the typed text, the
// notice, and the keys.
func (m *inbox) feet() int { return len(m.foot()) }

// room is the number of lines for the body.
func (m *inbox) room() int { return max(m.height-2-m.feet(), 1) }

// fits reports whether the screen has space for the head, at least one line of the body and the
// feet. Without that, or if the size is unknown, it is not certain what the person saw.
func (m *inbox) fits() bool { return m.width > 1 && 2+m.room()+m.feet() <= m.height }

const tooSmall = "Make the window larger: the call does not fit."

func (m *inbox) foot() []display.Line {
	lines := []display.Line{nil}
	if m.place == atConfirm || m.place == atField {
		lines = append(lines, m.question().Wrap(m.width, 2)...)
	}
	if m.place == atField {
		lines = append(lines, display.Line{{Style: display.AsIs, Text: "> " + tail(m.field, m.width-4)}, {Style: display.Marked, Text: " "}})
	}
	notice := m.notice
	if notice == nil {
		notice = display.Line{{Style: display.Faint, Text: m.position(len(lines) + 2)}}
	}
	return append(append(lines, notice.Wrap(m.width, 2)...), display.Line{{Style: display.Faint, Text: m.keys()}}.Cut(m.width))
}

// position says that there is more below.
func (m *inbox) position(feet int) string {
	if m.place == atList {
		return ""
	}
	if m.height < 3+feet {
		return tooSmall
	}
	if below := len(m.body()) - m.top - max(m.height-2-feet, 1); below > 0 {
		return "more below (space)"
	}
	return ""
}

// tail is the end of the typed text, as much of it as fits.
func tail(typed []rune, columns int) string {
	words := display.Clean(string(typed))
	for len(typed) > 0 && display.Wide(words) > columns {
		typed = typed[1:]
		words = display.Clean(string(typed))
	}
	return words
}

// keys lists the keys of this screen.
func (m *inbox) keys() string {
	switch m.place {
	case atList:
		return "j k select  Enter show  q quit  y approve  n deny  e edit  r result  o events"
	case atConfirm:
		return "y confirm  space scroll  any other key cancels"
	case atField:
		return "Enter send  Esc cancel"
	case atEvents:
		return "j k space b scroll  q back"
	}
	switch {
	case cmdline.TakesResult(m.item.Pending):
		return "r give the result  n deny  o events  q back"
	case cmdline.AsksToGoOn(m.item.Pending):
		return "y approve  n deny  o events  q back"
	case m.item.Kind == "approval":
		return "y approve  n deny  e edit the arguments  o events  q back"
	case m.item.Kind == "interrupt":
		return "y resume  o events  q back"
	case m.item.Kind == "unknown_outcome":
		return "y it did not happen, run it  r it happened: result  x it failed  n don't run it  o events  q back"
	}
	return "r result  x it failed  n cancel  o events  q back"
}

// rows is the part of the list around the selected row.
func (m *inbox) rows() []display.Line {
	room := m.room()
	first := max(min(m.row-room/2, len(m.items)-room), 0)
	var lines []display.Line
	for i := first; i < min(first+room, len(m.items)); i++ {
		a := m.items[i]
		mark, how := "  ", display.AsIs
		if a.Suspension.ID == m.chosen {
			mark, how = "> ", display.Marked
		}
		words := fmt.Sprintf("%s%7s  %-8s  %s  %s", mark, display.Age(a.Since, m.now), kindWords(a.Kind), forWhom(a), wanted(a))
		lines = append(lines, display.Line{{Style: how, Text: words}}.Cut(m.width))
	}
	return lines
}

// forWhom is the agent of a call, behind the one that began it all. The call itself must fit into
// the row, so the agents between them are in the details only.
func forWhom(a wire.Approval) string {
	words := display.Spelled(a.Agent)
	if len(a.Path) > 2 {
		words = "… › " + words
	}
	if len(a.Path) > 1 {
		words = display.Spelled(a.Path[0].Agent) + " › " + words
	}
	return words
}

// wanted is what a call would do, or what the run itself asks.
func wanted(a wire.Approval) string {
	if cmdline.AsksToGoOn(a.Pending) {
		return display.Spelled(display.OneLine(a.Suspension.Message))
	}
	return cmp.Or(cmdline.Title(a.Agent, a.Pending), cmdline.ToolTitle(a.Pending), display.Spelled(a.Tool)+" "+display.InWords(a.Arguments))
}

func kindWords(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// body is the whole call, or the events of its run, in lines that fit. It omits and cuts nothing of
// what would run.
func (m *inbox) body() []display.Line {
	var all []display.Line
	if m.place == atEvents {
		all = m.events
	} else {
		all = details(m.item, m.edited, m.now)
	}
	var lines []display.Line
	for _, l := range all {
		lines = append(lines, l.Wrap(m.width, display.Margin)...)
	}
	return lines
}

// details is everything known about a waiting call, in unwrapped lines. edited, if not nil,
// replaces its arguments.
func details(a wire.Approval, edited []byte, now time.Time) []display.Line {
	waitsFor := cmdline.AwaitedBy(a.Agent, a.Pending)
	if edited != nil && cmdline.ToolTitle(a.Pending) != "" { // with values of before the edit
		waitsFor = cmdline.AwaitedWhat(a.Pending)
	}
	lines := []display.Line{row("waits for", waitsFor), row("agent", display.Spelled(a.Agent)), row("run", a.RunID), row("call", a.CallID),
		row("suspension", a.Suspension.ID), row("since", strings.TrimSpace(display.Clock(a.Since)+display.After(", ", display.Age(a.Since, now))))}
	for _, r := range cmdline.PathRows(a.Agent, a.Pending) {
		lines = append(lines, row(r[0], r[1]))
	}
	if a.Deadline != nil {
		lines = append(lines, row("deadline", display.Clock(*a.Deadline)+display.UntilDeadline(a.Deadline.Time, now)))
	}
	if a.Suspension.Message != "" {
		lines = append(lines, block("message", display.SpelledLines(a.Suspension.Message))...)
	}
	arguments := a.Arguments
	if edited != nil {
		lines = append(lines, display.Line{}, display.Line{{Style: display.Bold, Text: "changes"}})
		lines = append(lines, display.Diff(a.Arguments, edited)...)
		arguments = edited
	}
	if a.Kind != "interrupt" && !cmdline.AsksToGoOn(a.Pending) {
		lines = append(lines, display.Line{}, display.Line{{Style: display.Bold, Text: argumentsMean(a)}})
		lines = append(lines, display.ArgumentLines(arguments)...)
	}
	lines = append(lines, previewLines(a.Pending, edited != nil)...)
	if !core.IsNull(a.Suspension.ResponseSchema) {
		lines = append(lines, display.Line{}, display.Line{{Style: display.Bold, Text: "schema of the answer"}})
		for _, l := range display.CleanJSONLines(a.Suspension.ResponseSchema) {
			lines = append(lines, display.Text(l))
		}
	}
	return append(lines, behind(a)...)
}

// argumentsMean says what becomes of the arguments. An ask runs nothing.
func argumentsMean(a wire.Approval) string {
	if cmdline.Title(a.Agent, a.Pending) != "" {
		return "it is asked about"
	}
	return cmdline.ArgumentsMean(a.Pending)
}

// previewLines are the preview of a call. It was made when the call was suspended, so it doesn't
// know edited arguments.
func previewLines(p wire.Pending, edited bool) (lines []display.Line) {
	for _, f := range cmdline.Preview(p) {
		if edited {
			f.Lines = append(f.Lines, "(for the arguments before the edit)")
		}
		lines = append(append(lines, display.Line{}), block(f.Name, f.Lines)...)
	}
	return lines
}

// behind is who requested the call, and what was said.
func behind(a wire.Approval) (lines []display.Line) {
	for _, f := range append(cmdline.Background(a.Pending), cmdline.OfRun(a.StartedBy, a.AgentVersion, a.Metadata)...) {
		lines = append(lines, block(f.Name, f.Lines)...)
	}
	if a.GrantScope != "" {
		lines = append(lines, row("wider", "y approves this call only; decide --grant run: "+display.Spelled(a.GrantScope)))
	}
	if len(lines) > 0 {
		lines = append([]display.Line{{}, {{Style: display.Bold, Text: "background"}}}, lines...)
	}
	return lines
}

func row(name, value string) display.Line {
	return display.Line{{Style: display.Faint, Text: fmt.Sprintf("%-12s", name)}, {Style: display.AsIs, Text: value}}
}

func block(name string, all []string) (lines []display.Line) {
	for _, l := range all {
		lines = append(lines, row(name, l))
		name = ""
	}
	return lines
}
