// Package httptool turns HTTP requests to services into tools that the engine can run. It fills in
// the request that an agent file describes, sends it, and converts the response to text. It reaches
// public addresses only, unless both the file and the operator allow others, and retries only
// requests that may be repeated. It does not decide whether a call may run; package agent defines
// which requests exist.
//
// Connections are opened by package netguard, and each one of a tool carries a single request. On a
// reused connection that the server has closed, [http.Transport] would silently repeat a request
// that must not be repeated.
package httptool

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Options are the dependencies of HTTP tools. Clock and Random are required.
type Options struct {
	Clock   engine.Clock
	Random  engine.Random
	Private netguard.Private // addresses that the operator allows besides public ones

	// Secrets is read at every call. If nil, secrets come from the environment; see
	// [secret.Variable].
	Secrets secret.Source

	// Lookup resolves host names; nil uses the resolver of the machine.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial is called for allowed addresses only; nil uses the network of the machine.
	Dial func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
	// TLS is the client configuration; nil uses the certificates of the machine.
	TLS *tls.Config
}

// Caller sends the requests of all HTTP tools. It is safe for concurrent use.
type Caller struct {
	o     Options
	guard *netguard.Guard
}

// New returns a caller. Between calls of tools it holds no connection.
func New(o Options) *Caller {
	if o.Secrets == nil {
		o.Secrets = secret.Environment(os.Getenv)
	}
	guard := netguard.New(netguard.Options{Clock: o.Clock, Private: o.Private, Lookup: o.Lookup, Dial: o.Dial, TLS: o.TLS})
	return &Caller{o: o, guard: guard}
}

// Lacks returns a sentence for the operator for each reason why this process cannot call an HTTP
// tool, an agent elsewhere, a server or a notify target of a definition.
func (c *Caller) Lacks(d agent.Definition) []string {
	var lacks []string
	for _, name := range d.Secrets() {
		switch _, err := c.o.Secrets.Values(context.Background(), []string{name}); {
		case err == nil:
		case errors.Is(err, secret.ErrNotSet):
			lacks = append(lacks, fmt.Sprintf("agent %s: the secret %s is not set; set the environment variable %s", d.Name, name, secret.Variable(name)))
		case errors.Is(err, secret.ErrUnavailable):
			lacks = append(lacks, fmt.Sprintf("agent %s: %v; make it readable, or set the environment variable %s", d.Name, err, secret.Variable(name)))
		default:
			lacks = append(lacks, fmt.Sprintf("agent %s: %v; set %s without it", d.Name, err, secret.Variable(name)))
		}
	}
	for _, t := range d.Tools {
		if scheme, host, private := privateTarget(t); private {
			lacks = append(lacks, c.closed(d.Name, "tool "+t.Name, scheme, host)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Servers)) {
		if s := d.Servers[name]; s.AllowPrivate {
			scheme, host := target(s.URL)
			lacks = append(lacks, c.closed(d.Name, "server "+name, scheme, host)...)
		}
	}
	for _, t := range d.Notify {
		if t.AllowPrivate {
			scheme, host := target(t.URL)
			lacks = append(lacks, c.closed(d.Name, "notify target "+t.Name, scheme, host)...)
		}
	}
	return append(lacks, c.outOfReach(d)...)
}

// privateTarget is where the calls of a tool go, if its file allows that to be a private address.
func privateTarget(t agent.Tool) (scheme, host string, private bool) {
	switch {
	case t.HTTP != nil && t.HTTP.AllowPrivate:
		to, err := t.HTTP.Target()
		return to.Scheme, to.Host, err == nil
	case t.Agent != nil && t.Agent.A2A != nil && t.Agent.A2A.AllowPrivate:
		scheme, host = target(t.Agent.A2A.URL)
		return scheme, host, true
	}
	return "", "", false
}

// outOfReach reports a model at an address that is neither public nor allowed by the operator. It
// reports nothing for a name that has to be looked up first.
func (c *Caller) outOfReach(d agent.Definition) []string {
	scheme, host := target(d.Model.BaseURL)
	if d.Model.Provider != agent.ProviderOpenAI || !netguard.Inside(host) || c.o.Private.MayHold(scheme, host) {
		return nil
	}
	return []string{fmt.Sprintf("agent %s: the model's base_url is at %s, which is not a public address and is not allowed by the operator; allow it with --allow-private-hosts %s",
		d.Name, host, host)}
}

// closed reports a private address that an agent file allows and the operator does not.
func (c *Caller) closed(agent, who, scheme, host string) []string {
	if c.o.Private.MayHold(scheme, host) {
		return nil
	}
	return []string{fmt.Sprintf("agent %s: %s sets allow_private, but the operator does not allow %s; allow it with --allow-private-hosts %s", agent, who, host, host)}
}

// Tool returns the body of an HTTP tool. If its stored request cannot be read, its calls fail.
func (c *Caller) Tool(t agent.Tool) engine.Tool {
	r := &request{caller: c, tool: t, http: *t.HTTP}
	target, err := t.HTTP.Target()
	if err == nil {
		r.headers, err = t.HTTP.HeaderFields()
	}
	r.target, r.unreadable = target, err
	r.used = r.placed()
	return r
}

// Held returns a tool that follows a redirect only if leads returns no error. It returns a tool
// that does not come from [Caller.Tool] unchanged.
func Held(t engine.Tool, leads func(call core.ToolCall, method string, to *url.URL) error) engine.Tool {
	r, ok := t.(*request)
	if !ok {
		return t
	}
	held := *r
	held.leads = leads
	return &held
}

// request is an HTTP tool that is ready to be called.
type request struct {
	caller     *Caller
	tool       agent.Tool
	http       agent.HTTP
	target     agent.Target
	headers    []agent.Field
	used       map[string]bool // arguments used in URL, query or headers
	unreadable error

	// leads decides on redirects; nil allows any address that may be reached.
	leads func(call core.ToolCall, method string, to *url.URL) error
}

func (r *request) placed() map[string]bool {
	used := map[string]bool{}
	texts := append([]placeholder.Template{}, r.target.Path...)
	for _, f := range append(append([]agent.Field{}, r.target.Query...), r.headers...) {
		texts = append(texts, f.Value)
	}
	for _, text := range texts {
		for _, name := range text.Arguments() {
			used[name] = true
		}
	}
	return used
}

// Run implements [engine.Tool]. What it returns contains no secret.
func (r *request) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	call := r.call(req)
	if r.unreadable != nil {
		return call.NotRun(fmt.Sprintf("its request cannot be built: %v", r.unreadable)), nil
	}
	secrets, err := r.caller.o.Secrets.Values(ctx, (agent.Definition{Tools: []agent.Tool{r.tool}}).Secrets())
	if ctx.Err() != nil {
		return core.Outcome{}, ctx.Err()
	}
	if err != nil {
		return call.NotRun(err.Error()), nil
	}
	call.Hidden = func() secret.Values { return secrets }
	args, err := readArguments(req.Call.Arguments)
	if err != nil {
		return call.NotRun(err.Error()), nil
	}
	m, err := r.compose(args, secrets, keyOf(req))
	if err != nil {
		return call.NotRun(err.Error()), nil
	}
	e := &execution{request: r, message: m, secrets: secrets, call: req.Call}
	return call.Run(ctx, func(ctx context.Context, _ *remote.Patience) remote.Attempt { return e.attempt(e.send(ctx)) })
}

// call returns one execution, under the rules shared by all remote tools.
func (r *request) call(req engine.ToolRequest) remote.Call {
	host := r.target.Host
	return remote.Call{Request: req, ReadOnly: r.http.Safe(), Clock: r.caller.o.Clock, Random: r.caller.o.Random, Quiet: r.http.Limit(), Repeats: r.http.Again(),
		Words: remote.Words{Read: "A request was sent to " + host, Sent: "The request was sent to " + host, Asked: r.tool.Name + " was sent to " + host, Before: "It was sent before",
			Subject: host + " ", Again: "The request could not be sent again: " + host + " ", Crashed: "sent it"}}
}

// keyOf returns the idempotency key in a form that fits into a header: the model chooses the call's
// id that it contains.
func keyOf(req engine.ToolRequest) string {
	if plain(req.Key) && len(req.Key) <= 200 && strings.TrimSpace(req.Key) == req.Key {
		return req.Key
	}
	return core.Digest([]byte(req.Key))
}

// plain reports whether text fits into a header: one line of printable ASCII.
func plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// readArguments decodes the arguments and keeps every value as it was written.
func readArguments(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var args map[string]json.RawMessage
	if core.IsNull(raw) {
		return args, nil
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("its arguments are not a JSON object")
	}
	return args, nil
}
