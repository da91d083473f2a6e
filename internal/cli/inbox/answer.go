package inbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// renderer names this program in the journal, with the fingerprint of what it showed.
const renderer = "inbox/1"

// drafted is a decision on the call as it is shown, and on no other.
func (m *inbox) drafted() wire.Decision {
	d := wire.Decision{Target: m.item.Suspension.ID}
	if m.item.Fingerprint != "" {
		d.Shown, d.ShownBy = m.item.Fingerprint, renderer
	}
	return d
}

func (m *inbox) ask(where place) {
	m.place, m.field = where, nil
	m.read = false
	m.scroll(-m.top)
}

func (m *inbox) send() want {
	m.sending, m.notice = true, display.Text("sending...")
	return sendDraft
}

// complete adds the typed text to the decision and sends it.
func (m *inbox) complete(typed string) want {
	switch {
	case m.draft.Action == "cancel":
		m.draft.Reason = typed
	case m.draft.Error != "" && typed == "":
		m.notice = display.Line{{Style: display.Yellow, Text: "Describe the error; the model sees it. Esc cancels."}}
		return nothing
	case m.draft.Error != "":
		m.draft.Error = typed
	case !json.Valid([]byte(typed)):
		m.notice = display.Line{{Style: display.Red, Text: "This is not JSON. Put text in quotes: \"like this\"."}}
		return nothing
	default:
		m.draft.Result = json.RawMessage(typed)
	}
	return m.send()
}

// changed takes the arguments from the editor.
func (m *inbox) changed(arguments json.RawMessage, err error) {
	_, isObject := display.Members(arguments)
	switch {
	case err != nil:
		m.notice = display.Line{{Style: display.Red, Text: "Editing failed: " + display.OneLine(err.Error())}}
	case !isObject:
		m.notice = display.Line{{Style: display.Red, Text: "This is not a JSON object with unique names. Nothing was sent; press e to edit again."}}
	case len(display.Diff(m.item.Arguments, arguments)) == 0:
		m.notice = display.Text("No changes. Press y to approve the call as shown.")
	default:
		m.draft = m.drafted()
		m.draft.Action, m.draft.Arguments = "resume", json.RawMessage(display.Compact(arguments))
		m.edited, m.notice = m.draft.Arguments, nil
		m.ask(atConfirm)
	}
}

// sent takes the response to a decision.
func (m *inbox) sent(answer wire.DecisionAnswer, err error) {
	m.sending = false
	var problem *client.Error
	switch {
	case err == nil && answer.Status < http.StatusBadRequest:
		m.done(display.Green, accepted(answer, m.draft)+": "+m.draft.Target)
	case err == nil:
		m.refuse(answer.Status, cmdline.Refusal(answer.Code, answer.Detail, answer.Winner))
	case errors.As(err, &problem):
		m.refuse(problem.Status, cmdline.RefusedPlainly(problem).Detail)
	default: // it may have arrived: sending it again is the same decision
		m.notice = display.Line{{Style: display.Red, Text: "No response; press y or Enter to send it again. " + display.OneLine(err.Error())}}
	}
}

// refuse shows why a decision was refused. If another decision is still possible, the call stays on
// the screen.
func (m *inbox) refuse(status int, why string) {
	if status == http.StatusConflict || status == http.StatusNotFound {
		m.done(display.Yellow, "Not applied: "+why)
		return
	}
	if m.place == atConfirm {
		m.place = atDetails
	}
	m.notice = display.Line{{Style: display.Red, Text: why}}
}

// done goes back to the list without the call. No other call is selected.
func (m *inbox) done(how display.Style, words string) {
	kept := m.items[:0:0]
	for _, a := range m.items {
		if a.Suspension.ID != m.draft.Target {
			kept = append(kept, a)
		}
	}
	m.items, m.chosen, m.place, m.edited = kept, "", atList, nil
	m.notice = display.Line{{Style: how, Text: words}}
}

func accepted(answer wire.DecisionAnswer, d wire.Decision) string {
	words := map[bool]string{true: "denied", false: "answered"}[d.Action == "cancel"]
	if d.Action == "resume" {
		words = "approved"
	}
	if d.Arguments != nil {
		words += " with edited arguments"
	}
	if answer.Code == "already_decided" {
		words = "already " + words
	}
	if v := answer.Votes; v != nil && v.Yes < v.Need && v.No < v.Deny && d.Arguments == nil {
		words += fmt.Sprintf(" (%d of %d; others must vote too)", v.Yes, v.Need)
	}
	if answer.Applied != nil && !*answer.Applied {
		words += "; no effect, the run was cancelled first"
	}
	return words
}

// showEvents shows what the run of a suspension did, unless the person has moved on meanwhile.
func (m *inbox) showEvents(suspension string, events []display.Line, err error) {
	if m.item.Suspension.ID != suspension || m.place != atDetails && m.place != atEvents {
		return
	}
	if err != nil {
		m.notice = display.Line{{Style: display.Red, Text: "Cannot read the events: " + display.OneLine(err.Error())}}
		return
	}
	m.events, m.place, m.notice = events, atEvents, nil
	m.scroll(len(events))
}

// question is the line above the keys while the inbox asks for input.
func (m *inbox) question() display.Line {
	what := fmt.Sprintf("%s of run %s (%s)?", cmp.Or(display.Spelled(m.item.Tool), m.item.Kind), m.item.RunID, m.draft.Target)
	switch {
	case m.place == atConfirm && m.edited != nil:
		return display.Line{{Style: display.Bold, Text: "Approve with these edited arguments: " + what}}
	case m.place == atConfirm && m.item.Kind == "unknown_outcome":
		return display.Line{{Style: display.Bold, Text: "It did not happen; run it: " + what}}
	case m.place == atConfirm && m.item.Kind == "interrupt":
		return display.Line{{Style: display.Bold, Text: "Resume: " + what}}
	case m.place == atConfirm:
		return display.Line{{Style: display.Bold, Text: "Approve " + what}}
	case m.draft.Action == "cancel":
		return display.Line{{Style: display.Bold, Text: "Deny " + what + " Reason: "}}
	case m.draft.Error != "":
		return display.Line{{Style: display.Bold, Text: "It failed: " + what + " Error: "}}
	}
	return display.Line{{Style: display.Bold, Text: "Result, as JSON, of " + what + " "}}
}
