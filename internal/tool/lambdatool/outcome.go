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
	case x.err == nil && !x.answer.Failed:
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

// refused says why nothing ran. The message of the service is for the operator only, because it
// names accounts, roles and addresses.
func (e *execution) refused(x exchange) string {
	name, code := e.at.Function, x.code()
	switch {
	case code == "TooManyRequestsException":
		return fmt.Sprintf("the function %s is throttled (%s); try again later", name, code)
	case code == "ResourceNotFoundException":
		return fmt.Sprintf("the function %s or this version of it does not exist (%s)", name, code)
	case code == "AccessDeniedException":
		return fmt.Sprintf("the agents' server is not allowed to invoke the function %s (%s); its operator can allow it", name, code)
	case code == "RequestTooLargeException", code == "RequestEntityTooLargeException":
		return fmt.Sprintf("its arguments are too large for the function %s (%s)", name, code)
	case code == "RecursiveInvocationException":
		return fmt.Sprintf("the service detected that %s is invoked in a loop (%s)", name, code)
	case code != "":
		return fmt.Sprintf("the function %s cannot be invoked now (%s)", name, remote.Brief(code))
	case errors.Is(x.err, remote.ErrSlow):
		return fmt.Sprintf("the service could not be reached within %s", e.at.Limit())
	}
	return "the service could not be reached: the connection failed"
}

// silence says why it is unknown whether the function ran.
func (e *execution) silence(x exchange) string {
	if x.code() != "" {
		return "the service answered " + remote.Brief(x.code())
	}
	return remote.Silence(x.err, e.at.Limit(), remote.Broke)
}

// failure is the result of a function that failed. If it was stopped in the middle, its effect is
// unknown.
func (e *execution) failure(f failed) remote.Attempt {
	f.Message = remote.Beginning(e.hidden, strings.TrimSpace(f.Message), remote.MostShown, " (cut off here)")
	said := "The function failed: " + f.words() + "."
	if f.lost() {
		return remote.Unknown{Why: "it was stopped before it answered (" + f.words() + ")", Said: said}
	}
	return remote.Answered{Outcome: core.Outcome{Failed: true, Text: said}, Settled: f.early()}
}

// failed is Lambda's answer for a function that failed. The stack trace is for the function's own
// log.
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

// lost reports whether the function was stopped in the middle: it ran out of time or memory, or its
// process exited. Older runtimes set no type for that.
func (f failed) lost() bool {
	return strings.HasPrefix(f.Type, "Sandbox.") || f.Type == "Runtime.ExitError" || f.Type == "Runtime.OutOfMemory" ||
		f.Type == "" && (f.Message == "" || strings.Contains(f.Message, "Task timed out after") || strings.Contains(f.Message, "exited before completing request"))
}

// early reports whether the function's own code was not reached.
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
		return "it gave no reason"
	case message == "":
		return kind
	case kind == "":
		return message
	}
	return kind + ": " + message
}

// result converts an answer to text: JSON without its insignificant spaces, and a JSON string as
// its content.
func (e *execution) result(payload []byte) core.Outcome {
	text, value := string(payload), false
	var compact bytes.Buffer
	var said string
	switch {
	case !utf8.Valid(payload):
		return core.Outcome{Text: "The function answered with bytes that are not text, which cannot be shown."}
	case core.IsNull(payload):
		return core.Outcome{Text: "The function answered without text."}
	case json.Unmarshal(payload, &said) == nil:
		text = said
	case json.Compact(&compact, payload) == nil:
		text, value = compact.String(), true // numbers keep every digit
	}
	out := core.Outcome{Text: e.cut(text)}
	if value {
		out.Value = json.RawMessage(out.Text)
	}
	return out
}

// cut hides values before it cuts, so that the text cannot end in the beginning of one.
func (e *execution) cut(text string) string {
	most := int(e.at.Most())
	// a placeholder may be longer than its secret
	head := core.CutResult(remote.Beginning(e.hidden, text, most, ""), 2*most)
	if len(text) <= most {
		return head
	}
	return head + fmt.Sprintf("\n[cut off: the result has %d bytes, of which only the beginning is kept]", len(text))
}
