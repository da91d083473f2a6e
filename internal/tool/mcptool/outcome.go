package mcptool

import (
	"fmt"
	"net/url"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// mostShown limits how much of a server's message appears in a failure.
const mostShown = 500

// attempt says what an exchange means for the call.
func (e *execution) attempt(x exchange) remote.Attempt {
	server, passes := "The MCP server "+e.host()+" ", x.busy() || x.gone()
	switch {
	case x.result != nil:
		return e.result(x)
	case !x.sent:
		return remote.NotSent{Why: x.unreached(e.tool.MCP.Limit()), Retry: !x.long && (passes || !x.refused()), After: x.after}
	case x.refused() || x.gone():
		return remote.Refused{Why: x.says(), Said: server + x.says() + ".", Retry: !x.long && passes, Certain: x.gone(), After: x.after}
	case x.long:
		return remote.Unknown{Why: fmt.Sprintf("its answer is longer than the %d bytes that are read", mostRead)}
	case !x.answered():
		return remote.Unknown{Why: e.silence(x), Retry: true, After: x.after}
	}
	failed := remote.Answered{Outcome: core.Outcome{Failed: true, Text: server + x.says() + "."}, After: x.after}
	if x.gateway() {
		failed.Doubt = e.silence(x)
	} else if x.busy() {
		failed.Doubt = "it " + x.says()
	}
	return failed
}

// says describes the answer of a server.
func (x exchange) says() string {
	rpc := x.rpc()
	switch {
	case rpc == nil && (x.status == 401 || x.status == 403):
		return "denied access: it answered " + remote.Status(x.status)
	case rpc == nil && x.status >= 300 && x.status < 400:
		return "answered with a redirect, which is not followed: " + remote.Status(x.status)
	case rpc == nil:
		return "answered " + remote.Status(x.status)
	case rpc.Code == -32602 && rpc.Message != "":
		return fmt.Sprintf("refused the call, as %s: %s", refusals[rpc.Code], begin(x.hidden, rpc.Message, mostShown))
	case refusals[rpc.Code] != "":
		return fmt.Sprintf("refused the call, as %s (error %d)", refusals[rpc.Code], rpc.Code)
	}
	// the text is for the operator of the server
	return fmt.Sprintf("answered with the error %d", rpc.Code)
}

// silence says why it is unknown whether the server received the call.
func (e *execution) silence(x exchange) string {
	if x.gateway() {
		return "a gateway in front of it answered " + remote.Status(x.status)
	}
	return remote.Silence(x.err, e.tool.MCP.Limit(), "no readable answer came")
}

// unreached says why the call could not be sent.
func (x exchange) unreached(limit time.Duration) string {
	if x.status != 0 || x.rpc() != nil {
		return x.says()
	}
	return remote.Unreached(x.err, limit, ", or does not speak MCP over streamable HTTP")
}

// log records details that only the operator may see.
func (e *execution) log(x exchange) {
	e.tools.o.Logger.Warn("an MCP server did not answer a call", "server", e.tool.MCP.Server, "tool", e.tool.Name, "run", e.request.Run,
		"call", e.request.Call.ID, "sent", x.sent, "status", x.status, "cause", begin(e.values, x.err.Error(), 2*mostShown))
}

// host names the server for people. The rest of its address may contain more than they should see.
func (b *body) host() string {
	return hostOf(b.server)
}

func hostOf(s agent.Server) string {
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "without an address"
}

// begin returns the beginning of a text on one line. Secrets are hidden before anything is escaped,
// because an escape within one would make it unrecognizable.
func begin(hidden secret.Values, text string, most int) string {
	return remote.Beginning(hidden, printable.Text(hidden.Redact(text)), most, "...")
}
