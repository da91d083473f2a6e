package mcptool

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// mostShown is how much of a server's word stands in a failure.
const mostShown = 500

// outcome puts the last attempt into words for the model, or asks a person if nobody can know what happened. Earlier is why nobody knows
// what became of one before it: what the last one met with says nothing about that.
func (e *execution) outcome(a attempt, earlier string) core.Outcome {
	if a.err != nil {
		e.log(a)
	}
	switch {
	case a.result != nil:
		return e.result(a.result)
	case !a.sent && earlier == "":
		return notRun("the MCP server %s %s", e.host(), a.unreached(e.tool.MCP.Limit()))
	case !a.sent:
		out := e.unanswered(earlier)
		out.Text += fmt.Sprintf(" The call could not be sent again: the server %s.", a.unreached(e.tool.MCP.Limit()))
		return out
	case a.refused():
		return e.refusal(a, earlier)
	case a.answered() && !a.long:
		out := core.Outcome{Failed: true, Text: "The MCP server " + e.host() + " " + a.says() + "."}
		if !e.tool.ReadOnly {
			out.Text += " The call may or may not have taken effect."
		}
		return out
	}
	return e.unanswered(e.unsettled(a))
}

// refusal: the server did not begin. It says nothing of an attempt before.
func (e *execution) refusal(a attempt, earlier string) core.Outcome {
	if earlier == "" {
		return notRun("the MCP server %s %s", e.host(), a.says())
	}
	if !e.repeatable {
		return e.unanswered(earlier)
	}
	return core.Outcome{Failed: true, Text: fmt.Sprintf("The MCP server %s %s. It was sent the call before, and %s: the call may or may not have taken effect.",
		e.host(), a.says(), earlier)}
}

// says is what a server that answered said.
func (a attempt) says() string {
	rpc := a.rpc()
	switch {
	case rpc == nil && (a.status == 401 || a.status == 403):
		return "does not let this program in: it answered " + statusName(a.status)
	case rpc == nil && a.status >= 300 && a.status < 400:
		return "answered with a redirect, which is not followed: " + statusName(a.status)
	case rpc == nil:
		return "answered " + statusName(a.status)
	case rpc.Code == -32602 && rpc.Message != "":
		return fmt.Sprintf("refused the call, as %s: %s", refusals[rpc.Code], begin(a.hidden, rpc.Message, mostShown))
	case refusals[rpc.Code] != "":
		return fmt.Sprintf("refused the call, as %s (error %d)", refusals[rpc.Code], rpc.Code)
	}
	return fmt.Sprintf("answered with the error %d", rpc.Code) // its text is for whoever runs the server
}

func statusName(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// unsettled says why nobody knows whether an attempt took effect; nothing if it was not sent, or refused.
func (e *execution) unsettled(a attempt) string {
	switch {
	case !a.sent, a.refused(), a.gone(), a.result != nil:
		return ""
	case a.long:
		return fmt.Sprintf("its answer is longer than the %d bytes that are read", mostRead)
	case a.gateway():
		return "what stands before it answered " + statusName(a.status)
	case a.answered():
		return "it " + a.says()
	case errors.Is(a.err, errSlow):
		return fmt.Sprintf("no answer came within %s", e.tool.MCP.Limit())
	}
	return "no answer came that can be read"
}

// unanswered: the call was sent, and nobody here can know what became of it. If it may be repeated the model is told, and can call again. If
// not, a person is asked, as for a body whose process was lost.
func (e *execution) unanswered(why string) core.Outcome {
	switch {
	case e.repeatable && e.tool.ReadOnly:
		return core.Outcome{Failed: true, Text: fmt.Sprintf("The MCP server %s was called, and %s.", e.host(), why)}
	case e.repeatable:
		return core.Outcome{Failed: true, Text: fmt.Sprintf("The MCP server %s was sent the call, and %s. It may or may not have taken effect.", e.host(), why)}
	}
	return core.Outcome{Kind: core.KindUnknownOutcome, Ticket: &core.SuspendTicket{Pending: core.PendingCall(e.request.Call), Suspension: core.Suspension{
		Action: "report_outcome",
		Message: fmt.Sprintf("%s was sent to the MCP server %s, and %s. Say what happened: its result, its error, or that it did not happen and may run.",
			e.tool.Name, e.host(), why)}}}
}

// unreached says why nothing could be called, without what is only for the operator to know: addresses.
func (a attempt) unreached(limit time.Duration) string {
	var unknown *net.DNSError
	var untrusted *tls.CertificateVerificationError
	switch {
	case a.status != 0 || a.rpc() != nil:
		return a.says()
	case errors.Is(a.err, errSlow):
		return fmt.Sprintf("could not be reached within %s", limit)
	case errors.As(a.err, &unknown) && unknown.IsNotFound:
		return "could not be reached: there is no such host"
	case errors.As(a.err, &unknown):
		return "could not be reached: its name could not be looked up"
	case errors.Is(a.err, syscall.ECONNREFUSED):
		return "could not be reached: it refused the connection"
	case errors.As(a.err, &untrusted):
		return "could not be reached: its certificate is not trusted"
	}
	return "could not be reached, or does not speak MCP over streamable HTTP"
}

// log tells the operator what callers are not told.
func (e *execution) log(a attempt) {
	e.tools.o.Logger.Warn("an MCP server did not answer a call", "server", e.tool.MCP.Server, "tool", e.tool.Name, "run", e.request.Run,
		"call", e.request.Call.ID, "sent", a.sent, "status", a.status, "cause", begin(e.values, a.err.Error(), 2*mostShown))
}

// host is the server as people know it: the rest of its address may say more than they should see.
func (b *body) host() string {
	return hostOf(b.server)
}

func hostOf(s agent.Server) string {
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "without an address"
}

// begin is the beginning of a text on one line, cut between two characters. Secrets are hidden first: one that is cut in two is not seen any more.
func begin(hidden secret.Values, text string, most int) string {
	if text = printable.Text(hidden.Redact(text)); len(text) <= most {
		return text
	}
	return hidden.CutEnd(strings.ToValidUTF8(text[:most], "")) + "..."
}
