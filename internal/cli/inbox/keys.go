package inbox

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// calm is how long no key may have been pressed before the confirming one. A key that is held down
// or typed ahead confirms nothing.
const calm = 250 * time.Millisecond

// answerKeys start a decision. The kind of a call determines which of them it accepts.
const answerKeys = "ynerx"

// press handles a key and returns what the caller must do.
func (m *inbox) press(k key, now time.Time) want {
	quiet := now.Sub(m.pressed) >= calm
	m.pressed, m.now = now, now
	switch {
	case k.name == "interrupt":
		return quit
	case k.pasted && m.place != atField, m.sending:
		return nothing // a y in pasted text is not a decision
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

// open shows the selected call and then handles the key.
func (m *inbox) open(k key) want {
	i := slices.IndexFunc(m.items, func(a wire.Approval) bool { return a.Suspension.ID == m.chosen })
	switch {
	case k.name != "enter" && !slices.Contains([]rune(answerKeys+"o"), k.char):
		return nothing
	case i < 0:
		m.notice = display.Line{{Style: display.Yellow, Text: "Select a call first, with the arrow keys or j and k."}}
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

// moved scrolls if the key is for scrolling.
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

// answer starts a decision on the call on the screen. Its kind determines which ones are possible.
func (m *inbox) answer(char rune) want {
	kind, result := m.item.Kind, cmdline.TakesResult(m.item.Pending)
	m.draft = m.drafted()
	switch {
	case char == 'y' && !result && (kind == "approval" || kind == "unknown_outcome" || kind == "interrupt"):
		m.draft.Action, m.edited = "resume", nil
		m.ask(atConfirm)
	case char == 'n' && kind != "interrupt":
		m.draft.Action = "cancel"
		m.ask(atField)
	case char == 'e' && kind == "approval" && !result && !cmdline.AsksToGoOn(m.item.Pending):
		return editItem
	case char == 'r' && (result || kind != "approval" && kind != "interrupt"):
		m.draft.Result = json.RawMessage("null") // to be filled in
		m.ask(atField)
	case char == 'x' && kind != "approval" && kind != "interrupt":
		m.draft.Error = " " // likewise
		m.ask(atField)
	case strings.ContainsRune(answerKeys, char) && char != 0:
		m.notice = display.Line{{Style: display.Yellow, Text: "This key does nothing here. " + m.keys()}}
	}
	return nothing
}

// pressConfirm sends only for a y that was pressed after the whole call had been shown.
func (m *inbox) pressConfirm(k key, quiet bool) want {
	switch {
	case k.char == 'y' && !quiet:
		m.notice = display.Line{{Style: display.Yellow, Text: "That was quick. Read the call, then press y again."}}
	case k.char == 'y' && !m.read && !m.fits():
		m.notice = display.Line{{Style: display.Yellow, Text: tooSmall}}
	case k.char == 'y' && !m.read:
		m.notice = display.Line{{Style: display.Yellow, Text: "There is more below. Press space to read it."}}
	case k.char == 'y':
		return m.send()
	case m.moved(k):
		m.notice = nil
	default:
		m.place, m.edited, m.notice = atDetails, nil, display.Text("Nothing was sent.")
		m.scroll(0)
	}
	return nothing
}

func (m *inbox) pressField(k key) want {
	switch {
	case k.name == "escape":
		m.place, m.notice = atDetails, display.Text("Nothing was sent.")
	case k.name == "back":
		m.field = m.field[:max(len(m.field)-1, 0)]
	case k.name == "clear":
		m.field = nil
	case k.name == "enter" && k.pasted:
		m.field = append(m.field, ' ')
	case k.name == "enter":
		return m.complete(strings.TrimSpace(string(m.field)))
	case k.char != 0:
		m.field = append(m.field, k.char)
	}
	return nothing
}
