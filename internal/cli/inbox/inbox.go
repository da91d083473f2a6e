package inbox

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// calm is how long no key must have been pressed before the one that confirms: a key that is held down, or typed ahead of what
// is shown, confirms nothing.
const calm = 250 * time.Millisecond

// place is where a person is in the inbox.
type place int

const (
	atList    place = iota
	atDetails       // one call, whole
	atConfirm       // the same, and the question whether to send
	atField         // the same, and a line to type in
	atEvents        // what its run did
)

// inbox is what waits, and where a person is in it. It is told keys and news and draws itself; it neither reads nor sends anything.
// What is answered is always item, a copy of what is shown: that its row has moved, or is gone, changes nothing about it.
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

// press is told a key and says what it leads to.
func (m *inbox) press(k key, now time.Time) want {
	quiet := now.Sub(m.pressed) >= calm
	m.pressed, m.now = now, now
	switch {
	case k.name == "interrupt":
		return quit
	case k.pasted && m.place != atField, m.sending:
		return nothing // text that happens to hold a y is no answer
	}
	switch m.place {
	case atField:
		return m.pressField(k)
	case atConfirm:
		return m.pressConfirm(k, quiet)
	case atList:
		return m.pressList(k)
	}
	return m.pressDetails(k)
}

func (m *inbox) pressList(k key) want {
	switch {
	case k.name == "up" || k.char == 'k':
		m.move(-1)
	case k.name == "down" || k.char == 'j':
		m.move(+1)
	case k.name == "home" || k.char == 'g':
		m.choose(0)
	case k.name == "end" || k.char == 'G':
		m.choose(len(m.items) - 1)
	case k.char == 'q' || k.name == "escape":
		return quit
	case k.char == 'R':
		return reload
	default:
		return m.open(k)
	}
	return nothing
}

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

// open shows the chosen call, and then does what the key says about it.
func (m *inbox) open(k key) want {
	i := slices.IndexFunc(m.items, func(a wire.Approval) bool { return a.Suspension.ID == m.chosen })
	switch {
	case k.name != "enter" && !slices.Contains([]rune("ynerxo"), k.char):
		return nothing
	case i < 0:
		m.notice = display.Line{{Style: display.Yellow, Text: "Choose one first, with the arrows or j and k."}}
		return nothing
	}
	m.item, m.place, m.notice = m.items[i], atDetails, nil
	m.top, m.read, m.edited, m.draft = 0, false, nil, wire.Decision{}
	m.scroll(0)
	if k.name == "enter" {
		return nothing
	}
	return m.pressDetails(k)
}

func (m *inbox) pressDetails(k key) want {
	m.notice = nil
	if m.moved(k) {
		return nothing
	}
	switch {
	case k.name == "escape" || k.char == 'q' || k.name == "back":
		if m.place == atEvents {
			m.place = atDetails
			m.scroll(-m.top)
			return nothing
		}
		m.place = atList
	case k.char == 'o':
		return readEvents
	case m.place == atDetails:
		return m.answer(k.char)
	}
	return nothing
}

// moved scrolls, if that is what the key is for.
func (m *inbox) moved(k key) bool {
	page := max(m.room()-1, 1)
	switch {
	case k.name == "up" || k.char == 'k':
		m.scroll(-1)
	case k.name == "down" || k.char == 'j':
		m.scroll(+1)
	case k.name == "pageup" || k.char == 'b':
		m.scroll(-page)
	case k.name == "pagedown" || k.char == ' ':
		m.scroll(+page)
	case k.name == "home" || k.char == 'g':
		m.scroll(-m.top)
	case k.name == "end" || k.char == 'G':
		m.scroll(len(m.body()))
	default:
		return false
	}
	return true
}

// scroll moves what is shown.
func (m *inbox) scroll(by int) {
	last := max(len(m.body())-m.room(), 0)
	m.top = min(max(m.top+by, 0), last)
}

// drawn is told that the view stands on the screen. Only by this is a call read: a line that is counted and not drawn was not seen. The time
// counts from here, too, since a y that was typed before is no answer to what came to the screen after it.
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

// news is told what waits now. A call that was chosen and is gone leaves no row chosen: the next key is not about its neighbour.
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
