package httptool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/text/retryafter"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// attempt says what an exchange means for the call.
func (e *execution) attempt(x exchange) remote.Attempt {
	forbidden, refused := errors.AsType[netguard.RefusedError](x.err)
	switch {
	case x.answer != nil:
		return e.answered(x.answer)
	case !x.sent:
		return remote.NotSent{Why: e.unreached(x.err), Retry: !refused}
	case refused: // a redirect led there
		return astray("The service answered with a redirect that is not followed: " + forbidden.Error() + ".")
	case errors.As(x.err, new(redirectError)):
		return astray("The service answered with a redirect that is not followed: " + x.err.Error() + ".")
	}
	return remote.Unknown{Why: e.silence(x.err), Retry: true}
}

// astray is the result of a read-only request whose redirect is not followed.
func astray(text string) remote.Attempt {
	return remote.Answered{Outcome: core.Outcome{Failed: true, Text: text}, Settled: true}
}

// answered says what an answer means for the call. An incomplete answer is accepted only if a retry
// is not allowed.
func (e *execution) answered(a *answer) remote.Attempt {
	doubt, after := "", time.Duration(0)
	if a.broken != nil {
		doubt = e.silence(a.broken)
	}
	if a.busy() {
		after = retryafter.Parse(a.wait, e.caller.o.Clock.Now())
	}
	switch {
	case a.ok():
		return remote.Answered{Outcome: e.success(a), Doubt: doubt}
	case a.refuses():
		return remote.Refused{Said: e.failure(a), Retry: a.busy() || a.broken != nil, After: after}
	case a.gateway():
		return remote.Unknown{Why: cmp.Or(doubt, "a gateway in front of the service answered "+a.name()), Said: e.failure(a), Retry: true, After: after}
	case !a.final():
		return remote.Unknown{Why: "the service answered " + a.name(), Said: e.failure(a)}
	case a.busy():
		doubt = cmp.Or(doubt, "the service answered "+a.name())
	}
	return remote.Answered{Outcome: core.Outcome{Failed: true, Text: e.failure(a)}, Doubt: doubt, After: after}
}

// unreached says why the request could not be sent.
func (e *execution) unreached(err error) string {
	if forbidden, is := errors.AsType[netguard.RefusedError](err); is {
		return "cannot be called: " + forbidden.Error()
	}
	return remote.Unreached(err, e.http.Limit(), ": the connection failed")
}

func (e *execution) silence(err error) string {
	return remote.Silence(err, e.http.Limit(), remote.Broke)
}

func (e *execution) success(a *answer) core.Outcome {
	text, why, ok := a.text(e.secrets)
	switch {
	case e.message.method == "HEAD":
		return core.Outcome{Text: "The service answered " + a.name() + headOf(a) + "."}
	case !ok:
		return core.Outcome{Text: fmt.Sprintf("The service answered %s with %s, which cannot be shown.", a.name(), why)}
	case a.broken != nil:
		return core.Outcome{Text: text + "\n(The service answered " + a.name() + ", and the connection broke here; the rest of the answer is missing.)"}
	case a.cut:
		return core.Outcome{Text: text + fmt.Sprintf("\n(The answer was cut off here because it is longer than %d bytes.)", e.http.Most())}
	case text == "":
		return core.Outcome{Text: "The service answered " + a.name() + ", without text."}
	}
	return core.Outcome{Text: text, Value: valueOf(a.media, text)}
}

// valueOf returns the text of an answer as JSON, or nil if its media type is not JSON or the text
// is not valid JSON.
func valueOf(media, text string) json.RawMessage {
	kind, _, err := mime.ParseMediaType(media)
	if err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json")) {
		return json.RawMessage(text)
	}
	return nil
}

// headOf describes the body from the headers of an answer to HEAD.
func headOf(a *answer) string {
	text := ""
	if a.media != "" {
		text += ", type " + remote.Brief(a.media)
	}
	if a.length >= 0 {
		text += fmt.Sprintf(", %d bytes", a.length)
	}
	return text
}

// failure shows the status and the beginning of the body.
func (e *execution) failure(a *answer) string {
	out := "The service answered " + a.name()
	text, _, ok := a.text(e.secrets)
	if text = strings.TrimSpace(text); ok && text != "" {
		out += ": " + remote.Beginning(e.secrets, text, remote.MostShown, "...")
	} else {
		out += "."
	}
	if a.redirects() {
		out += " A redirect of a " + e.message.method + " is not followed."
	}
	return out
}
