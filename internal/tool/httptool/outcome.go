package httptool

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// mostShown is how much of an answer stands in a failure.
const mostShown = 2000

// unsettled says why nobody knows whether an attempt took effect; nothing if it was not sent, or refused.
func (e *execution) unsettled(a attempt) string {
	switch {
	case a.answer == nil && !a.sent:
		return ""
	case a.answer == nil:
		return e.silence(a.err)
	case a.answer.refuses():
		return ""
	case a.answer.broken != nil:
		return e.silence(a.answer.broken)
	case a.answer.gateway():
		return "what stands before the service answered " + a.answer.name()
	}
	return "the service answered " + a.answer.name()
}

// outcome puts the last attempt into words for the model, or asks a person if nobody can know what happened. Earlier is why nobody knows
// what became of one before it: what the last one met with says nothing about that.
func (e *execution) outcome(a attempt, earlier string) core.Outcome {
	var forbidden netguard.RefusedError
	switch {
	case a.answer == nil && !a.sent && earlier == "":
		return notRun("%s %s", e.message.url.Host, e.unreached(a.err))
	case a.answer == nil && !a.sent:
		out := e.unanswered(earlier)
		out.Text += fmt.Sprintf(" The request could not be sent again: %s %s.", e.message.url.Host, e.unreached(a.err))
		return out
	case a.answer == nil && errors.As(a.err, new(redirectError)):
		return core.Outcome{Failed: true, Text: "The service was asked and answered with a redirect that is not followed: " + a.err.Error() + "."}
	case a.answer == nil && errors.As(a.err, &forbidden): // where a redirect led to
		return core.Outcome{Failed: true, Text: "The service answered with a redirect that is not followed: " + forbidden.Error() + "."}
	case a.answer == nil:
		return e.unanswered(e.unsettled(a))
	case a.answer.ok():
		return e.success(a.answer)
	case (a.answer.gateway() || !a.answer.final()) && !e.repeatable:
		return e.unanswered(e.unsettled(a))
	}
	return e.failure(a.answer, earlier)
}

// unreached says why nothing could be sent, without what is only for the operator to know: addresses.
func (e *execution) unreached(err error) string {
	var forbidden netguard.RefusedError
	var unknown *net.DNSError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &forbidden):
		return "cannot be called: " + forbidden.Error()
	case errors.Is(err, errSlow):
		return fmt.Sprintf("could not be reached within %s", e.http.Limit())
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "could not be reached: there is no such host"
	case errors.As(err, &unknown):
		return "could not be reached: its name could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "could not be reached: it refused the connection"
	case errors.As(err, &untrusted):
		return "could not be reached: its certificate is not trusted"
	}
	return "could not be reached: no connection could be made"
}

func (e *execution) silence(err error) string {
	if errors.Is(err, errSlow) {
		return fmt.Sprintf("no answer came within %s", e.http.Limit())
	}
	return "the connection broke before a whole answer came"
}

// unanswered: the request was sent, and nobody here can know what became of it. If it may be repeated the model is told, and can call
// again. If not, a person is asked, as for a body whose process was lost.
func (e *execution) unanswered(why string) core.Outcome {
	host := e.message.url.Host
	switch {
	case e.repeatable && e.http.Safe():
		return core.Outcome{Failed: true, Text: fmt.Sprintf("%s was asked, and %s.", host, why)}
	case e.repeatable:
		return core.Outcome{Failed: true, Text: fmt.Sprintf("The request was sent to %s, and %s. It may or may not have taken effect.", host, why)}
	}
	return core.Outcome{Kind: core.KindUnknownOutcome, Ticket: &core.SuspendTicket{Pending: core.PendingCall(e.call), Suspension: core.Suspension{
		Action: "report_outcome",
		Message: fmt.Sprintf("%s was sent to %s, and %s. Say what happened: its result, its error, or that it did not happen and may run.",
			e.tool.Name, host, why)}}}
}

func (e *execution) success(a *answer) core.Outcome {
	text, why, ok := a.text(e.secrets)
	switch {
	case a.broken != nil && e.repeatable: // it was asked as often as may be
		return e.unanswered(e.silence(a.broken))
	case e.message.method == "HEAD":
		return core.Outcome{Text: "The service answered " + a.name() + headOf(a) + "."}
	case !ok:
		return core.Outcome{Text: fmt.Sprintf("The service answered %s with %s, which cannot be shown.", a.name(), why)}
	case a.broken != nil:
		return core.Outcome{Text: text + "\n(The service answered " + a.name() + ", and the connection broke here: the rest of the answer is missing.)"}
	case a.cut:
		return core.Outcome{Text: text + fmt.Sprintf("\n(The answer was cut off here: it is longer than %d bytes.)", e.http.Most())}
	case text == "":
		return core.Outcome{Text: "The service answered " + a.name() + ", without a text."}
	}
	return core.Outcome{Text: text, Value: valueOf(a.media, text)}
}

// valueOf is the text of an answer as JSON; nil if its media type is another. One that is not valid JSON counts as text.
func valueOf(media, text string) json.RawMessage {
	kind, _, err := mime.ParseMediaType(media)
	if err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json")) {
		return json.RawMessage(text)
	}
	return nil
}

// headOf is what an answer to HEAD says of a body.
func headOf(a *answer) string {
	text := ""
	if a.media != "" {
		text += ", type " + brief(a.media)
	}
	if a.length >= 0 {
		text += fmt.Sprintf(", %d bytes", a.length)
	}
	return text
}

// failure shows the status and how the body begins, and says what is not known.
func (e *execution) failure(a *answer, earlier string) core.Outcome {
	out := "The service answered " + a.name()
	text, _, ok := a.text(e.secrets)
	if text = strings.TrimSpace(text); ok && text != "" {
		out += ": " + e.begin(text)
	} else {
		out += "."
	}
	if a.redirects() {
		out += " A redirect of a " + e.message.method + " is not followed."
	}
	switch {
	case e.http.Safe():
	case !a.refuses():
		out += " The call may or may not have taken effect."
	case earlier != "":
		out += " It was sent before, and " + earlier + ": the call may or may not have taken effect."
	}
	return core.Outcome{Failed: true, Text: out}
}

// begin is the beginning of a text, at most as much as a failure shows.
func (e *execution) begin(text string) string {
	if len(text) <= mostShown {
		return text
	}
	end := mostShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}
