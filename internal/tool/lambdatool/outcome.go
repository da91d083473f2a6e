package lambdatool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// attempt says what an exchange means for the call.
func (e *execution) attempt(x exchange) remote.Attempt {
	e.hidden = e.caller.o.Hidden()
	switch {
	case x.err == nil && x.answer.FunctionError == nil:
		return remote.Answered{Outcome: e.result(x.answer.Payload)}
	case x.err == nil:
		return e.failure(readFailure(x.answer.Payload))
	case !x.idle():
		return remote.Unknown{Why: e.silence(x), Retry: true}
	case x.code() == "":
		return remote.NotSent{Why: e.refused(x), Retry: true}
	}
	return remote.Refused{Why: e.refused(x), Retry: slices.Contains(passing, x.code()), Certain: true}
}

// refused says why nothing ran. The words of the service are for the operator alone: they name
// accounts, roles and addresses.
func (e *execution) refused(x exchange) string {
	name, code := e.at.Function, x.code()
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
		return fmt.Sprintf("the function %s cannot be invoked now (%s)", name, remote.Brief(code))
	case errors.Is(x.err, remote.ErrSlow):
		return fmt.Sprintf("the service could not be reached within %s", e.at.Limit())
	}
	return "the service could not be reached: no connection could be made"
}

// silence says why it is not known whether the function ran.
func (e *execution) silence(x exchange) string {
	if x.code() != "" {
		return "the service answered " + remote.Brief(x.code())
	}
	return remote.Silence(x.err, e.at.Limit(), remote.Broke)
}

// failure is what the function says of its failure. One that was stopped in the middle says nothing
// of what it had done by then.
func (e *execution) failure(f failed) remote.Attempt {
	f.Message = remote.Beginning(e.hidden, strings.TrimSpace(f.Message), remote.MostShown, " (cut off here)")
	said := "The function failed: " + f.words() + "."
	if f.lost() {
		return remote.Unknown{Why: "it was stopped before it answered (" + f.words() + ")", Said: said}
	}
	return remote.Answered{Outcome: core.Outcome{Failed: true, Text: said}, Settled: f.early()}
}

// failed is what Lambda answers of a function that did not end well. Its stack is for the
// function's own log.
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

// lost: the function was stopped in the middle: out of time, out of memory, or its process ended. A
// runtime of before has no type for that.
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

func (f failed) words() string {
	message, kind := strings.TrimRight(f.Message, ". "), remote.Brief(f.Type)
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

// result is an answer as text: JSON as it was written but for blanks, and a JSON string as what it
// says.
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
	// a name may be longer than its value
	head := core.CutResult(remote.Beginning(e.hidden, text, most, ""), 2*most)
	if len(text) <= most {
		return head
	}
	return head + fmt.Sprintf("\n[cut off: the result has %d bytes, and only its beginning is kept]", len(text))
}
