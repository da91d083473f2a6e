// Package httptool makes requests to services into tools the engine can run: it fills in what an agent file says of a request, sends it,
// and turns what comes back into words. It reaches public addresses only, unless both the file and the operator say otherwise, and it
// sends again only what may be sent again. Whether a call may run is decided elsewhere; which requests there are is in package agent.
//
// No connection is used twice. A connection that was opened for one tool must not carry the request of another, which may be
// allowed less; and a request that must not be repeated would be, by [http.Transport], on a connection that was closed meanwhile.
//
// No proxy is used, whatever the environment says: a proxy would open the connections, and only its own address could be checked.
package httptool

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Options are the surroundings of HTTP tools. Clock and Random are required.
type Options struct {
	Clock   engine.Clock
	Random  engine.Random
	Private Private // what the operator allows beside public addresses

	// Secret looks a secret up, at every call; nil looks into the environment, see [SecretVariable].
	Secret func(name string) (value string, ok bool)

	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)        // nil: the machine's resolver
	Dial   func(ctx context.Context, address netip.AddrPort) (net.Conn, error) // called for allowed addresses only; nil: the machine's network
	TLS    *tls.Config                                                         // nil: the machine's certificates
}

// Caller sends the requests of all HTTP tools. Safe for concurrent use.
type Caller struct {
	o         Options
	transport *http.Transport
}

// maxHeader bounds the headers of an answer.
const maxHeader = 64 << 10

// New returns a caller. It holds no connection while no call is at hand, whatever the other end does.
func New(o Options) *Caller {
	if o.Secret == nil {
		o.Secret = func(name string) (string, bool) { return os.LookupEnv(SecretVariable(name)) }
	}
	if o.Lookup == nil {
		o.Lookup = lookup
	}
	if o.Dial == nil {
		o.Dial = dial
	}
	c := &Caller{o: o}
	c.transport = &http.Transport{DialContext: c.dial, TLSClientConfig: o.TLS, DisableKeepAlives: true, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeader}
	return c
}

// SecretVariable is the environment variable that holds a secret.
func SecretVariable(name string) string { return "DORMOUSE_SECRET_" + name }

// Lacks says, each in a sentence for the operator, what keeps the HTTP tools of a definition from being called by this process.
func (c *Caller) Lacks(d agent.Definition) []string {
	var lacks []string
	for _, name := range d.Secrets() {
		if value, ok := c.o.Secret(name); !ok || value == "" {
			lacks = append(lacks, fmt.Sprintf("agent %s: the secret %s is not set; set the environment variable %s", d.Name, name, SecretVariable(name)))
		} else if !plain(value) {
			lacks = append(lacks, fmt.Sprintf("agent %s: the secret %s cannot be sent: it holds a line break, or is no plain ASCII text; set %s without it",
				d.Name, name, SecretVariable(name)))
		}
	}
	for _, t := range d.Tools {
		if t.HTTP == nil || !t.HTTP.AllowPrivate {
			continue
		}
		if target, err := t.HTTP.Target(); err == nil && !c.o.Private.mayHold(target.Scheme, target.Host) {
			lacks = append(lacks, fmt.Sprintf("agent %s: tool %s says allow_private, and the operator does not allow %s; name it with --allow-private-hosts %s",
				d.Name, t.Name, target.Host, target.Host))
		}
	}
	return lacks
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

// request is an HTTP tool, ready to be called.
type request struct {
	caller     *Caller
	tool       agent.Tool
	http       agent.HTTP
	target     agent.Target
	headers    []agent.Field
	used       map[string]bool // the arguments that stand in URL, query or headers
	unreadable error
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
	out, err := r.execute(ctx, req)
	if err == nil && out.Failed && req.Again && !r.http.Safe() {
		out.Text += lostBefore
	}
	return out, err
}

// lostBefore follows whatever a repeat met with: it says nothing of what the lost process did.
const lostBefore = " This is of the repeat alone: the process that had the call before was lost, and may have sent it. The call may or may not have taken effect."

func (r *request) execute(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	if r.unreadable != nil {
		return notRun("its request cannot be made: %v", r.unreadable), nil
	}
	secrets, err := r.secrets()
	if err != nil {
		return notRun("%v", err), nil
	}
	args, err := readArguments(req.Call.Arguments)
	if err != nil {
		return notRun("%v", err), nil
	}
	m, err := r.compose(args, secrets, keyOf(req))
	if err != nil {
		return notRun("%s", secrets.redact(err.Error())), nil
	}
	out, err := (&execution{request: r, message: m, secrets: secrets, call: req.Call, repeatable: !req.AtMostOnce}).run(ctx)
	if err != nil {
		return core.Outcome{}, err
	}
	return secrets.clean(out), nil
}

// notRun is the outcome of a call whose request was not sent.
func notRun(format string, args ...any) core.Outcome {
	return core.Outcome{Failed: true, Text: "The call did not run: " + fmt.Sprintf(format, args...) + "."}
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
