package inbox

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// place is where a person is in the inbox.
type place int

const (
	atList    place = iota
	atDetails       // one call, whole
	atConfirm       // the same, and the question whether to send
	atField         // the same, and a line to type in
	atEvents        // what its run did
)

// inbox is what waits, and where a person is in it. It is told keys and news and draws itself; it
// neither reads nor sends anything. What is answered is always item, a copy of what is shown: that
// its row has moved, or is gone, changes nothing about it.
type inbox struct {
	program       string // its name
	width, height int
	now           time.Time

	place  place
	items  []wire.Approval
	more   bool // there are more than are shown
	loaded bool
	chosen string // the suspension of the row that is chosen; "" for none
	row    int    // where it was

	item   wire.Approval
	top    int             // the first line that is shown of it
	read   bool            // its last line was drawn
	draft  wire.Decision   // what is asked to be confirmed, or completed by the field
	edited json.RawMessage // the arguments it would run with instead
	field  []rune
	events []display.Line

	notice  display.Line
	sending bool
	pressed time.Time // when the last key was, or what is asked about was drawn to its end
}

// want is what the inbox wants to be done outside of it.
type want int

const (
	nothing want = iota
	quit
	reload
	sendDraft  // of item
	editItem   // its arguments, by the person's editor
	readEvents // of its run
)

// move goes to another row; without one it begins where the last one was.
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

// drawn is told that the view stands on the screen. Only by this is a call read: a line that is
// counted and not drawn was not seen. The time counts from here, too, since a y that was typed
// before is no answer to what came to the screen after it.
func (m *inbox) drawn(now time.Time) {
	if m.read || m.place == atList || m.place == atEvents || !m.fits() || m.top+m.room() < len(m.body()) {
		return
	}
	m.read, m.pressed = true, now
}

// resize is told how large the screen is.
func (m *inbox) resize(width, height int) {
	if m.width == width && m.height == height {
		return
	}
	m.width, m.height = width, height
	if m.place != atList {
		m.scroll(0)
	}
}

// news is told what waits now. A call that was chosen and is gone leaves no row chosen: the next
// key is not about its neighbour.
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
			m.notice = display.Line{{Style: display.Yellow, Text: "The chosen call does not wait any more: it was answered, its deadline passed, or its run ended."}}
		}
	}
	if m.place != atList && m.place != atEvents && !m.sending && find(m.item.Suspension.ID) < 0 {
		m.notice = display.Line{{Style: display.Yellow, Text: "This call does not wait any more: it was answered, its deadline passed, or its run ended."}}
	}
}
