package inbox

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// place is a screen of the inbox.
type place int

const (
	atList    place = iota
	atDetails       // the whole call
	atConfirm       // the call, and a question to confirm
	atField         // the call, and an input line
	atEvents        // what its run did
)

// inbox is the state of the interactive inbox. It takes keys and news and draws itself; it does no
// I/O. A decision is always on item, a copy of the call on the screen, even if its row has moved or
// disappeared.
type inbox struct {
	program       string // its name
	width, height int
	now           time.Time

	place  place
	items  []wire.Approval
	more   bool // there are more on the server
	loaded bool
	chosen string // suspension id of the selected row; "" for none
	row    int    // where it was

	item   wire.Approval
	top    int             // the first line that is shown of it
	read   bool            // its last line was drawn
	draft  wire.Decision   // to be confirmed, or completed by the field
	edited json.RawMessage // edited arguments
	field  []rune
	events []display.Line

	notice  display.Line
	sending bool
	pressed time.Time // of the last key, or when the whole call had been drawn
}

// want is what the inbox wants its caller to do.
type want int

const (
	nothing want = iota
	quit
	reload
	sendDraft  // of item
	editItem   // edit its arguments in the editor
	readEvents // load the events of its run
)

// move selects another row. Without a selection it starts at the last position.
func (m *inbox) move(by int) {
	if m.chosen == "" {
		by = 0
	}
	m.choose(m.row + by)
}

func (m *inbox) choose(row int) {
	m.notice = nil
	if len(m.items) == 0 {
		m.chosen = ""
		return
	}
	m.row = min(max(row, 0), len(m.items)-1)
	m.chosen = m.items[m.row].Suspension.ID
}

// scroll moves what is shown.
func (m *inbox) scroll(by int) {
	last := max(len(m.body())-m.room(), 0)
	m.top = min(max(m.top+by, 0), last)
}

// drawn records that the view is on the screen. A call counts as read only after its last line was
// drawn. The pause before a confirmation starts here too: a y typed earlier is not a decision on
// what was drawn later.
func (m *inbox) drawn(now time.Time) {
	if m.read || m.place == atList || m.place == atEvents || !m.fits() || m.top+m.room() < len(m.body()) {
		return
	}
	m.read, m.pressed = true, now
}

// resize takes the size of the screen.
func (m *inbox) resize(width, height int) {
	if m.width == width && m.height == height {
		return
	}
	m.width, m.height = width, height
	if m.place != atList {
		m.scroll(0)
	}
}

// news takes the waiting calls. If the selected call is gone, no row is selected, so that the next
// key does not act on its neighbor.
func (m *inbox) news(items []wire.Approval, more bool) {
	m.items, m.more, m.loaded = items, more, true
	find := func(id string) int {
		return slices.IndexFunc(items, func(a wire.Approval) bool { return a.Suspension.ID == id })
	}
	if i := find(m.chosen); i >= 0 {
		m.row = i
	} else if m.chosen != "" {
		m.chosen = ""
		if m.place == atList {
			m.notice = display.Line{{Style: display.Yellow, Text: "The selected call is no longer waiting: it was decided, its deadline passed, or its run ended."}}
		}
	}
	if m.place != atList && m.place != atEvents && !m.sending && find(m.item.Suspension.ID) < 0 {
		m.notice = display.Line{{Style: display.Yellow, Text: "This call is no longer waiting: it was decided, its deadline passed, or its run ended."}}
	}
}
