// Package httptool makes requests to services into tools the engine can run: it fills in what an
// agent file says of a request, sends it, and turns what comes back into words. It reaches public
// addresses only, unless both the file and the operator say otherwise, and it sends again only what
// may be sent again. Whether a call may run is decided elsewhere; which requests there are is in
// package agent.
//
// Connections are opened by package netguard, which uses none twice. A request that must not be
// repeated would be, by [http.Transport], on a connection that was closed meanwhile.
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
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Options are the surroundings of HTTP tools. Clock and Random are required.
type Options struct {
	Clock   engine.Clock
	Random  engine.Random
	Private netguard.Private // what the operator allows beside public addresses

	// Secrets is asked at every call; nil looks into the environment, see [secret.Variable].
	Secrets secret.Source

	// nil: the machine's resolver
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// called for allowed addresses only; nil: the machine's network
	Dial func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
	// nil: the machine's certificates
	TLS *tls.Config
}

// Caller sends the requests of all HTTP tools. Safe for concurrent use.
type Caller struct {
	o     Options
	guard *netguard.Guard
}

// New returns a caller. It holds no connection while no call is at hand, whatever the other end
// does.
func New(o Options) *Caller {
	if o.Secrets == nil {
		o.Secrets = secret.Environment(os.Getenv)
	}
	guard := netguard.New(netguard.Options{Clock: o.Clock, Private: o.Private, Lookup: o.Lookup, Dial: o.Dial, TLS: o.TLS})
	return &Caller{o: o, guard: guard}
}

// Lacks says, each in a sentence for the operator, what keeps the HTTP tools and the servers of a
// definition from being called by this process.
func (c *Caller) Lacks(d agent.Definition) []string {
	var lacks []string
	for _, name := range d.Secrets() {
		switch _, err := c.o.Secrets.Values(context.Background(), []string{name}); {
		case err == nil:
		case errors.Is(err, secret.ErrNotSet):
			lacks = append(lacks, fmt.Sprintf("agent %s: the secret %s is not set; set the environment variable %s", d.Name, name, secret.Variable(name)))
		case errors.Is(err, secret.ErrUnavailable):
			lacks = append(lacks, fmt.Sprintf("agent %s: %v; see that it can be read, or set the environment variable %s", d.Name, err, secret.Variable(name)))
		default:
			lacks = append(lacks, fmt.Sprintf("agent %s: %v; set %s without it", d.Name, err, secret.Variable(name)))
		}
	}
	for _, t := range d.Tools {
		if t.HTTP == nil || !t.HTTP.AllowPrivate {
			continue
		}
		if target, err := t.HTTP.Target(); err == nil {
			lacks = append(lacks, c.closed(d.Name, "tool "+t.Name, target.Scheme, target.Host)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Servers)) {
		if s := d.Servers[name]; s.AllowPrivate {
			scheme, host := target(s.URL)
			lacks = append(lacks, c.closed(d.Name, "server "+name, scheme, host)...)
		}
	}
	return append(lacks, c.outOfReach(d)...)
}

// outOfReach reports a model at an address that is neither public nor allowed by the operator;
// nothing if only a lookup can show where its name leads.
func (c *Caller) outOfReach(d agent.Definition) []string {
	scheme, host := target(d.Model.BaseURL)
	if d.Model.Provider != agent.ProviderOpenAI || !netguard.Inside(host) || c.o.Private.MayHold(scheme, host) {
		return nil
	}
	return []string{fmt.Sprintf("agent %s: the model's base_url is at %s, which is not a public address, and the operator does not allow it; name it with --allow-private-hosts %s",
		d.Name, host, host)}
}

// closed says that the operator does not allow what an agent asks for; nothing if he does.
func (c *Caller) closed(agent, who, scheme, host string) []string {
	if c.o.Private.MayHold(scheme, host) {
		return nil
	}
	return []string{fmt.Sprintf("agent %s: %s says allow_private, and the operator does not allow %s; name it with --allow-private-hosts %s", agent, who, host, host)}
}

// Tool is the body of an HTTP tool. A stored request that cannot be read fails its calls.
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

// Held returns a tool that follows a redirect only if leads returns no error. A tool that is not
// one of [Caller.Tool] is returned as it is.
func Held(t engine.Tool, leads func(call core.ToolCall, method string, to *url.URL) error) engine.Tool {
	r, ok := t.(*request)
	if !ok {
		return t
	}
	held := *r
	held.leads = leads
	return &held
}

// request is an HTTP tool, ready to be called.
type request struct {
	caller     *Caller
	tool       agent.Tool
	http       agent.HTTP
	target     agent.Target
	headers    []agent.Field
	used       map[string]bool // the arguments that stand in URL, query or headers
	unreadable error

	// nil: a redirect may lead anywhere that can be asked
	leads func(call core.ToolCall, method string, to *url.URL) error
}

func (r *request) placed() map[string]bool {
	used := map[string]bool{}
	texts := append([]agent.Template{}, r.target.Path...)
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

// Run implements [engine.Tool]. Nothing it returns holds the value of a secret.
func (r *request) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	call := r.call(req)
	if r.unreadable != nil {
		return call.NotRun(fmt.Sprintf("its request cannot be made: %v", r.unreadable)), nil
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

// call is one execution under the rules that all tools elsewhere share.
func (r *request) call(req engine.ToolRequest) remote.Call {
	host := r.target.Host
	return remote.Call{Request: req, ReadOnly: r.http.Safe(), Clock: r.caller.o.Clock, Random: r.caller.o.Random, Quiet: r.http.Limit(), Repeats: r.http.Again(),
		Words: remote.Words{Read: host + " was asked", Sent: "The request was sent to " + host, Asked: r.tool.Name + " was sent to " + host, Before: "It was sent before",
			Subject: host + " ", Again: "The request could not be sent again: " + host + " ", Crashed: "sent it"}}
}

// keyOf is the idempotency key as a header can hold it: the call's id in it is the model's word.
func keyOf(req engine.ToolRequest) string {
	if plain(req.Key) && len(req.Key) <= 200 && strings.TrimSpace(req.Key) == req.Key {
		return req.Key
	}
	return core.Digest([]byte(req.Key))
}

// plain says whether text can stand in a header: one line of ASCII that shows.
func plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// readArguments keeps every value as it was written.
func readArguments(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var args map[string]json.RawMessage
	if core.IsNull(raw) {
		return args, nil
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("its arguments are no JSON object")
	}
	return args, nil
}
