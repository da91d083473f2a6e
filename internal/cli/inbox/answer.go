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

// renderer names these screens in the journal, beside the fingerprint of what they showed.
const renderer = "inbox/1"

// drafted is an answer to the question as it is shown, and to no other.
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

// complete puts what was typed into the decision and sends it.
func (m *inbox) complete(typed string) want {
	switch {
	case m.draft.Action == "cancel":
		m.draft.Reason = typed
	case m.draft.Error != "" && typed == "":
		m.notice = display.Line{{Style: display.Yellow, Text: "Say what went wrong; the model is told. Esc leaves it."}}
		return nothing
	case m.draft.Error != "":
		m.draft.Error = typed
	case !json.Valid([]byte(typed)):
		m.notice = display.Line{{Style: display.Red, Text: "That is not JSON. Text needs quotes: \"like this\"."}}
		return nothing
	default:
		m.draft.Result = json.RawMessage(typed)
	}
	return m.send()
}

// changed is told the arguments as the person's editor left them.
func (m *inbox) changed(arguments json.RawMessage, err error) {
	_, isObject := display.Members(arguments)
	switch {
	case err != nil:
		m.notice = display.Line{{Style: display.Red, Text: "The arguments were not edited: " + display.OneLine(err.Error())}}
	case !isObject:
		m.notice = display.Line{{Style: display.Red, Text: "That is not a JSON object whose names are there once each. Nothing was sent; e begins anew."}}
	case len(display.Diff(m.item.Arguments, arguments)) == 0:
		m.notice = display.Text("Nothing was changed. y approves it as it is.")
	default:
		m.draft = m.drafted()
		m.draft.Action, m.draft.Arguments = "resume", json.RawMessage(display.Compact(arguments))
		m.edited, m.notice = m.draft.Arguments, nil
		m.ask(atConfirm)
	}
}

// sent is told what became of the decision.
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
	default: // it may have arrived: the same again is the same decision
		m.notice = display.Line{{Style: display.Red, Text: "No answer came; y or Enter sends the same again. " + display.OneLine(err.Error())}}
	}
}

// refuse shows why, and stays where something else can be typed; a call that is answered has no
// other answer.
func (m *inbox) refuse(status int, why string) {
	if status == http.StatusConflict || status == http.StatusNotFound {
		m.done(display.Yellow, "Not sent: "+why)
		return
	}
	if m.place == atConfirm {
		m.place = atDetails
	}
	m.notice = display.Line{{Style: display.Red, Text: why}}
}

// done goes back to the list, without the call and with no other one chosen in its place.
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
		words += " with other arguments"
	}
	if answer.Code == "already_decided" {
		words = "already " + words + ", the same way"
	}
	if answer.Applied != nil && !*answer.Applied {
		words += "; it had no effect, the run was cancelled with it"
	}
	return words
}

// told is told what the run of a suspension did. Whoever has gone on to something else meanwhile is
// not pulled out of it.
func (m *inbox) told(suspension string, events []display.Line, err error) {
	if m.item.Suspension.ID != suspension || m.place != atDetails && m.place != atEvents {
		return
	}
	if err != nil {
		m.notice = display.Line{{Style: display.Red, Text: "The events cannot be read: " + display.OneLine(err.Error())}}
		return
	}
	m.events, m.place, m.notice = events, atEvents, nil
	m.scroll(len(events))
}

// question is what stands above the keys while something is asked.
func (m *inbox) question() display.Line {
	what := fmt.Sprintf("%s of run %s (%s)?", cmp.Or(display.Spelled(m.item.Tool), m.item.Kind), m.item.RunID, m.draft.Target)
	switch {
	case m.place == atConfirm && m.edited != nil:
		return display.Line{{Style: display.Bold, Text: "Approve with these other arguments: " + what}}
	case m.place == atConfirm && m.item.Kind == "unknown_outcome":
		return display.Line{{Style: display.Bold, Text: "It did not happen, and shall run: " + what}}
	case m.place == atConfirm && m.item.Kind == "interrupt":
		return display.Line{{Style: display.Bold, Text: "Go on: " + what}}
	case m.place == atConfirm:
		return display.Line{{Style: display.Bold, Text: "Approve " + what}}
	case m.draft.Action == "cancel":
		return display.Line{{Style: display.Bold, Text: "Deny " + what + " Why? "}}
	case m.draft.Error != "":
		return display.Line{{Style: display.Bold, Text: "It failed: " + what + " With what error? "}}
	}
	return display.Line{{Style: display.Bold, Text: "The result, as JSON, of " + what + " "}}
}
