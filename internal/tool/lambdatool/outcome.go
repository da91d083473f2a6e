package lambdatool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// outcome puts the last attempt into words for the model, or asks a person if nobody can know what happened. Earlier is why nobody knows what
// became of one before it: what the last one met with says nothing about that.
func (e *execution) outcome(a attempt, earlier string) core.Outcome {
	switch {
	case a.err != nil && a.idle() && earlier == "":
		return notRun("%s", e.refused(a))
	case a.err != nil && a.idle():
		out := e.unanswered(earlier)
		out.Text += " It could not be invoked again: " + e.refused(a) + "."
		return out
	case a.err != nil:
		return e.unanswered(e.unsettled(a))
	case a.answer.FunctionError == nil:
		return e.result(a.answer.Payload)
	}
	return e.failure(readFailure(a.answer.Payload), earlier)
}

// refused says why nothing ran. The words of the service are for the operator alone: they name accounts, roles and addresses.
func (e *execution) refused(a attempt) string {
	name, code := e.at.Function, a.code()
	switch {
	case code == "TooManyRequestsException":
		return fmt.Sprintf("the function %s is invoked too often now (%s); it may have room in a while", name, code)
	case code == "ResourceNotFoundException":
		return fmt.Sprintf("there is no function %s, or no such version of it (%s)", name, code)
	case code == "AccessDeniedException":
		return fmt.Sprintf("the agents' server may not invoke the function %s (%s); its operator can allow it", name, code)
	case code == "RequestTooLargeException", code == "RequestEntityTooLargeException":
		return fmt.Sprintf("its arguments are larger than the function %s can take (%s)", name, code)
	case code == "RecursiveInvocationException":
		return fmt.Sprintf("the service takes the invocation of %s for a loop (%s)", name, code)
	case code != "":
		return fmt.Sprintf("the function %s cannot be invoked now (%s)", name, brief(code))
	case errors.Is(a.err, errSlow):
		return fmt.Sprintf("the service could not be reached within %s", e.at.Limit())
	}
	return "the service could not be reached: no connection could be made"
}

// unsettled says why nobody knows whether an attempt took effect; nothing if it did nothing.
func (e *execution) unsettled(a attempt) string {
	switch {
	case a.err == nil || a.idle():
		return ""
	case a.code() != "":
		return "the service answered " + brief(a.code())
	case errors.Is(a.err, errSlow):
		return fmt.Sprintf("no answer came within %s", e.at.Limit())
	}
	return "the connection broke before a whole answer came"
}

// unanswered: the function was invoked, and nobody here can know what became of it. If that may be repeated the model is told, and can call
// again. If not, a person is asked, as for a body whose process was lost.
func (e *execution) unanswered(why string) core.Outcome {
	name := e.at.Function
	switch {
	case e.repeatable && e.tool.ReadOnly:
		return core.Outcome{Failed: true, Text: fmt.Sprintf("The function %s was invoked, and %s.", name, why)}
	case e.repeatable:
		return core.Outcome{Failed: true, Text: fmt.Sprintf("The function %s was invoked, and %s. It may or may not have taken effect.", name, why)}
	}
	return core.Outcome{Kind: core.KindUnknownOutcome, Ticket: &core.SuspendTicket{Pending: core.PendingCall(e.call), Suspension: core.Suspension{
		Action: "report_outcome",
		Message: fmt.Sprintf("%s invoked the function %s, and %s. Say what happened: its result, its error, or that it did not happen and may run.",
			e.tool.Name, name, why)}}}
}

// failure shows what the function says of its failure, and says what is not known. One that was stopped in the middle says nothing of what it
// had done by then.
func (e *execution) failure(f failed, earlier string) core.Outcome {
	f.Message = e.begin(strings.TrimSpace(f.Message))
	if f.lost() && !e.repeatable {
		return e.unanswered("it was stopped before it answered (" + f.words() + ")")
	}
	text := "The function failed: " + f.words() + "."
	switch {
	case e.tool.ReadOnly || f.early() && earlier == "":
	case earlier != "":
		text += " It was invoked before, and " + earlier + ": the call may or may not have taken effect."
	default:
		text += " The call may or may not have taken effect."
	}
	return core.Outcome{Failed: true, Text: text}
}

// failed is what Lambda answers of a function that did not end well. Its stack is for the function's own log.
type failed struct {
	Message string `json:"errorMessage"`
	Type    string `json:"errorType"`
}

func readFailure(payload []byte) failed {
	var f failed
	if json.Unmarshal(payload, &f) != nil {
		return failed{}
	}
	return f
}

// lost: the function was stopped in the middle: out of time, out of memory, or its process ended. A runtime of before has no type for that.
func (f failed) lost() bool {
	return strings.HasPrefix(f.Type, "Sandbox.") || f.Type == "Runtime.ExitError" || f.Type == "Runtime.OutOfMemory" ||
		f.Type == "" && (f.Message == "" || strings.Contains(f.Message, "Task timed out after") || strings.Contains(f.Message, "exited before completing request"))
}

// early: the function's own code was not reached.
func (f failed) early() bool {
	switch f.Type {
	case "Runtime.ImportModuleError", "Runtime.HandlerNotFound", "Runtime.InvalidEntrypoint", "Runtime.UserCodeSyntaxError", "Runtime.MalformedHandlerName":
		return true
	}
	return false
}

// mostShown is how much of a failure is shown.
const mostShown = 2000

func (f failed) words() string {
	message, kind := strings.TrimRight(f.Message, ". "), brief(f.Type)
	switch {
	case message == "" && kind == "":
		return "it did not say why"
	case message == "":
		return kind
	case kind == "":
		return message
	}
	return kind + ": " + message
}

// begin is the beginning of a text, at most about as much as a failure shows, with no beginning of a hidden value at its end.
func (e *execution) begin(text string) string {
	if len(text) <= mostShown {
		return text
	}
	return e.hidden.CutEnd(e.hidden.Redact(clipped(text, mostShown))) + " (cut off here)"
}

// result is an answer as text: JSON as it was written but for blanks, and a JSON string as what it says.
func (e *execution) result(payload []byte) core.Outcome {
	text, value := string(payload), false
	var compact bytes.Buffer
	var said string
	switch {
	case !utf8.Valid(payload):
		return core.Outcome{Text: "The function answered with bytes that are no text, which cannot be shown."}
	case core.IsNull(payload):
		return core.Outcome{Text: "The function answered without a text."}
	case json.Unmarshal(payload, &said) == nil:
		text = said
	case json.Compact(&compact, payload) == nil:
		text, value = compact.String(), true // every digit stays
	}
	out := core.Outcome{Text: e.cut(text)}
	if value {
		out.Value = json.RawMessage(out.Text)
	}
	return out
}

// cut hides before it cuts at last, so that no beginning of a value is left where the text ends.
func (e *execution) cut(text string) string {
	most := int(e.at.Most())
	if len(text) <= most {
		return core.CutResult(e.hidden.Redact(text), 2*most) // a name may be longer than its value
	}
	head := e.hidden.CutEnd(e.hidden.Redact(clipped(text, most)))
	return core.CutResult(head, 2*most) + fmt.Sprintf("\n[cut off: the result has %d bytes, and only its beginning is kept]", len(text))
}

// clipped is at most n bytes of a text, not cut within a character.
func clipped(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// brief is a word of the service, as far as it can stand in a sentence.
func brief(word string) string {
	word = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, word)
	return word[:min(len(word), 80)]
}
