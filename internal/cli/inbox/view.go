package inbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// view is the whole screen, a line for each of its lines.
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
		return "reading..."
	case m.place == atEvents:
		return "what " + m.item.RunID + " did"
	case m.place != atList:
		return ""
	case len(m.items) == 0:
		return "nothing waits"
	case m.more:
		return fmt.Sprintf("the %d oldest of more", len(m.items))
	case len(m.items) == 1:
		return "1 call waits"
	}
	return fmt.Sprintf("%d calls wait", len(m.items))
}

// feet is how many lines stand below the body: an empty one, the question with what is typed, the
// notice, and the keys.
func (m *inbox) feet() int { return len(m.foot()) }

// room is how many lines the body has.
func (m *inbox) room() int { return max(m.height-2-m.feet(), 1) }

// fits says that the head, a line of the body at least and all of the feet stand on the screen.
// Without that, or if its size is not known, nobody can tell what was seen.
func (m *inbox) fits() bool { return m.width > 1 && 2+m.room()+m.feet() <= m.height }

const tooSmall = "Make the window larger: it does not show what this is about."

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

// position says that there is more than the screen shows.
func (m *inbox) position(feet int) string {
	if m.place == atList {
		return ""
	}
	if m.height < 3+feet {
		return tooSmall
	}
	if below := len(m.body()) - m.top - max(m.height-2-feet, 1); below > 0 {
		return "more below: space"
	}
	return ""
}

// tail is the end of what is typed, as much of it as fits.
func tail(typed []rune, columns int) string {
	words := display.Clean(string(typed))
	for len(typed) > 0 && display.Wide(words) > columns {
		typed = typed[1:]
		words = display.Clean(string(typed))
	}
	return words
}

// keys are those that mean something here.
func (m *inbox) keys() string {
	switch m.place {
	case atList:
		return "j k move  Enter show  y approve  n deny  e edit  r result  o events  q quit"
	case atConfirm:
		return "y send it  space more  any other key: do not"
	case atField:
		return "Enter send it  Esc do not"
	case atEvents:
		return "j k space b move  q back"
	}
	switch {
	case cmdline.TakesResult(m.item.Pending):
		return "r give its result  n deny  o events  q back"
	case m.item.Kind == "approval":
		return "y approve  n deny  e edit the arguments  o events  q back"
	case m.item.Kind == "interrupt":
		return "y go on  o events  q back"
	case m.item.Kind == "unknown_outcome":
		return "y it did not happen, run it  r it happened: result  x it failed  n leave it  o events  q back"
	}
	return "r result  x it failed  n cancel it  o events  q back"
}

// rows is the list, with the chosen one on the screen.
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
		words := fmt.Sprintf("%s%7s  %-8s  %s  %s %s", mark, display.Age(a.Since, m.now), kindWords(a.Kind), display.Spelled(a.Agent), display.Spelled(a.Tool), display.InWords(a.Arguments))
		lines = append(lines, display.Line{{Style: how, Text: words}}.Cut(m.width))
	}
	return lines
}

func kindWords(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// body is what is shown of one call, or of its run: whole, in lines that fit. Nothing of what would
// run is left out or cut.
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

// details is everything that is known of a waiting call, as lines without end. edited, if not nil,
// is what it would run with instead of its arguments.
func details(a wire.Approval, edited []byte, now time.Time) []display.Line {
	lines := []display.Line{row("waits for", cmdline.AwaitedWhat(a.Pending)), row("agent", display.Spelled(a.Agent)), row("run", a.RunID), row("call", a.CallID),
		row("this", a.Suspension.ID), row("since", strings.TrimSpace(display.Clock(a.Since)+display.After(", ", display.Age(a.Since, now))))}
	if a.Deadline != nil {
		lines = append(lines, row("deadline", display.Clock(*a.Deadline)+display.UntilDeadline(a.Deadline.Time, now)))
	}
	if a.Suspension.Message != "" {
		lines = append(lines, block("message", display.SpelledLines(a.Suspension.Message))...)
	}
	arguments := a.Arguments
	if edited != nil {
		lines = append(lines, display.Line{}, display.Line{{Style: display.Bold, Text: "what changes"}})
		lines = append(lines, display.Diff(a.Arguments, edited)...)
		arguments = edited
	}
	if a.Kind != "interrupt" {
		lines = append(lines, display.Line{}, display.Line{{Style: display.Bold, Text: cmdline.ArgumentsMean(a.Pending)}})
		lines = append(lines, display.ArgumentLines(arguments)...)
	}
	lines = append(lines, previewLines(a.Pending, edited != nil)...)
	if !core.IsNull(a.Suspension.ResponseSchema) {
		lines = append(lines, display.Line{}, display.Line{{Style: display.Bold, Text: "the answer must fit"}})
		for _, l := range display.CleanJSONLines(a.Suspension.ResponseSchema) {
			lines = append(lines, display.Text(l))
		}
	}
	return append(lines, behind(a)...)
}

// previewLines are the preview of a call. It is made when the call is asked about, so it doesn't
// know edited arguments.
func previewLines(p wire.Pending, edited bool) (lines []display.Line) {
	for _, f := range cmdline.Preview(p) {
		if edited {
			f.Lines = append(f.Lines, "(made for the arguments before they were edited)")
		}
		lines = append(append(lines, display.Line{}), block(f.Name, f.Lines)...)
	}
	return lines
}

// behind is who wants the call and in whose words.
func behind(a wire.Approval) (lines []display.Line) {
	for _, f := range append(cmdline.Background(a.Pending), cmdline.OfRun(a.StartedBy, a.AgentVersion, a.Metadata)...) {
		lines = append(lines, block(f.Name, f.Lines)...)
	}
	if a.GrantScope != "" {
		lines = append(lines, row("wider", "a yes here is for this call alone; decide --grant run: "+display.Spelled(a.GrantScope)))
	}
	if len(lines) > 0 {
		lines = append([]display.Line{{}, {{Style: display.Bold, Text: "who wants it"}}}, lines...)
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
