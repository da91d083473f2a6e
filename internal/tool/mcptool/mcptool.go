// Package mcptool makes tools of MCP servers into tools the engine can run, over streamable HTTP. A
// definition says which tools there are and what they take; what a server lists later, or lists
// otherwise, adds nothing. A server that asks for something on the way makes the call wait: what it
// wants to have back is kept in the state of the run, and any other process can go on.
//
// It offers a server neither sampling nor roots nor tasks, reads no prompts and no resources, and
// keeps no stream open while no call is at hand. Whether a call may run is decided elsewhere.
// Everything a server says is untrusted: it is bounded, and never an error of this program.
package mcptool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Options are the surroundings of the tools. HTTP, Secrets, Clock and Random are required.
type Options struct {
	// HTTP is the client that speaks to one server. Which addresses may be reached is for it to
	// decide: private ones only where the server's AllowPrivate and the operator say so, and
	// public ones never in the clear with a secret. So is how large the headers of an answer
	// may be. Headers of the definition, the limit on time and the one on a body are put on top
	// of it here, and no redirect is followed: it would carry those headers to wherever the
	// server says.
	HTTP func(s agent.Server) *http.Client

	Secrets secret.Source // asked at every call
	Clock   engine.Clock
	Random  engine.Random
	Logger  *slog.Logger // nil: [slog.Default]
	Version string       // of this program, as servers are told
}

// Tools are the tools of all servers, and what a warm process keeps of them. Safe for concurrent
// use.
type Tools struct {
	o    Options
	pool pool
}

// New returns tools without any session. It asks no server anything.
func New(o Options) *Tools {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Tools{o: o}
}

// Close ends the sessions that no call is using. The tools can be used on.
func (t *Tools) Close() { t.pool.drain() }

// Body is the body of one tool of a definition. The error says what in the definition it cannot be
// made of; no server is asked.
func (t *Tools) Body(d agent.Definition, a agent.Tool) (engine.Tool, error) {
	if a.MCP == nil {
		return nil, fmt.Errorf("tool %s names no MCP server", a.Name)
	}
	server, ok := d.Servers[a.MCP.Server]
	if !ok {
		return nil, fmt.Errorf("tool %s: there is no server %q; describe it under servers", a.Name, a.MCP.Server)
	}
	headers, err := readHeaders(server)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", a.MCP.Server, err)
	}
	return &body{tools: t, tool: a, server: server, headers: headers}, nil
}

// body is one tool, ready to be called.
type body struct {
	tools   *Tools
	tool    agent.Tool
	server  agent.Server
	headers []agent.Field
}

// name is what the server calls the tool.
func (b *body) name() string { return cmp.Or(b.tool.MCP.Tool, b.tool.Name) }

// Run implements [engine.Tool]. Nothing it returns holds the value of a secret that the server is
// sent.
func (b *body) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	call := b.call(req)
	values, headers, err := b.tools.fill(ctx, b.headers)
	if ctx.Err() != nil {
		return core.Outcome{}, ctx.Err()
	}
	if err != nil {
		return call.NotRun(err.Error()), nil
	}
	call.Hidden = func() secret.Values { return values }
	e := &execution{body: b, request: req, rules: call, values: values, link: link{tenant: req.Tenant, server: b.server, headers: headers}}
	return e.run(ctx)
}

// call is one execution under the rules that all tools elsewhere share.
func (b *body) call(req engine.ToolRequest) remote.Call {
	o, server := b.tools.o, "MCP server "+b.host()
	return remote.Call{Request: req, ReadOnly: b.tool.ReadOnly, Clock: o.Clock, Random: o.Random, Quiet: b.tool.MCP.Limit(), Longest: longest, Repeats: mostRepeats,
		Words: remote.Words{Read: "The " + server + " was called", Sent: "The " + server + " was sent the call", Asked: b.tool.Name + " was sent to the " + server,
			Before: "It was sent the call before", Subject: "the " + server + " ", Again: "The call could not be sent again: the server ", Crashed: "sent it"}}
}

// ours are the headers that the protocol or the connection says.
var ours = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Content-Type", "Accept", "Accept-Encoding", "Last-Event-Id"}

// readHeaders reads the headers of a server, by name.
func readHeaders(s agent.Server) ([]agent.Field, error) {
	var fields []agent.Field
	for name, text := range s.Headers {
		value, err := agent.ReadTemplate(text)
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case err != nil:
			return nil, err
		case len(value.Arguments()) > 0:
			return nil, fmt.Errorf("the header %s holds {%s}; the headers of a server hold no arguments, only {secret:NAME}", name, value.Arguments()[0])
		case slices.Contains(ours, canonical) || strings.HasPrefix(canonical, "Mcp-"):
			return nil, fmt.Errorf("the header %s is set by this program; remove it", canonical)
		}
		fields = append(fields, agent.Field{Name: canonical, Value: value})
	}
	slices.SortFunc(fields, func(a, b agent.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields, nil
}

// fill puts the secrets into the headers. They are looked up anew for every call.
func (t *Tools) fill(ctx context.Context, fields []agent.Field) (secret.Values, http.Header, error) {
	var names []string
	for _, f := range fields {
		names = append(names, f.Value.Secrets()...)
	}
	values, err := t.o.Secrets.Values(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	headers := http.Header{}
	for _, f := range fields {
		var text strings.Builder
		for _, p := range f.Value {
			text.WriteString(p.Text + values[p.Secret])
		}
		headers.Set(f.Name, text.String())
	}
	return values, headers, nil
}

// hide is text of the server as it can be stored and shown.
func (e *execution) hide(text string) string {
	return strings.ToValidUTF8(e.values.Redact(text), "\uFFFD")
}

// arguments are the call's, as they were written.
func arguments(call core.ToolCall) json.RawMessage {
	if core.IsNull(call.Arguments) {
		return json.RawMessage(`{}`)
	}
	return call.Arguments
}

// longest is how long a call may take however often its server says that it is still at work: a
// step has no more time.
const longest = 90 * time.Second
