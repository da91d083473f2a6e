// Package mcptool turns the tools of MCP servers into tools that the engine can run, over
// streamable HTTP. A definition pins the tools and their arguments; what a server lists later, or
// lists differently, adds nothing. If a server requests input during a call, the call is suspended:
// the server's state is stored in the state of the run, so that any process can continue.
//
// It offers servers no sampling, no roots and no tasks, reads no prompts and no resources, and
// keeps no stream open between calls. It does not decide whether a call may run. Everything a
// server sends is untrusted: it is limited in size, and never causes an error of this program.
package mcptool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Options are the dependencies of the tools. HTTP, Secrets, Clock and Random are required.
type Options struct {
	// HTTP returns the client for one server. The client decides which addresses may be
	// reached: private ones only if both the server's AllowPrivate and the operator allow them,
	// and public ones never over plain HTTP with a secret. It also limits the headers of an
	// answer. This package adds the headers of the definition, the time limit and the limit of
	// a body, and follows no redirect, because that would send the headers to an address that
	// the server chooses.
	HTTP func(s agent.Server) *http.Client

	Secrets secret.Source // read at every call
	Clock   engine.Clock
	Random  engine.Random
	Logger  *slog.Logger // nil: [slog.Default]
	Version string       // version of this program, sent to servers
}

// Tools are the tools of all servers, with the sessions that a warm process keeps. They are safe
// for concurrent use.
type Tools struct {
	o    Options
	pool pool
}

// New returns tools without any session. It makes no network request.
func New(o Options) *Tools {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Tools{o: o}
}

// Close ends the idle sessions. The tools remain usable.
func (t *Tools) Close() { t.pool.drain() }

// Body returns the body of one tool of a definition. The error says what is wrong with the
// definition; no request is made.
func (t *Tools) Body(d agent.Definition, a agent.Tool) (engine.Tool, error) {
	if a.MCP == nil {
		return nil, fmt.Errorf("tool %s names no MCP server", a.Name)
	}
	server, ok := d.Servers[a.MCP.Server]
	if !ok {
		return nil, fmt.Errorf("tool %s: there is no server %q; add it under servers", a.Name, a.MCP.Server)
	}
	headers, err := remote.ReadHeaders(server.Headers, reserved)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", a.MCP.Server, err)
	}
	return &body{tools: t, tool: a, server: server, headers: headers}, nil
}

// body is one tool that is ready to be called.
type body struct {
	tools   *Tools
	tool    agent.Tool
	server  agent.Server
	headers remote.Headers
}

// name is the tool's name on the server.
func (b *body) name() string { return cmp.Or(b.tool.MCP.Tool, b.tool.Name) }

// Run implements [engine.Tool]. What it returns contains no secret that is sent to the server.
func (b *body) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	call := b.call(req)
	values, headers, err := b.headers.Fill(ctx, b.tools.o.Secrets)
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

// call returns one execution, under the rules shared by all remote tools.
func (b *body) call(req engine.ToolRequest) remote.Call {
	o, server := b.tools.o, "MCP server "+b.host()
	return remote.Call{Request: req, ReadOnly: b.tool.ReadOnly, Clock: o.Clock, Random: o.Random, Quiet: b.tool.MCP.Limit(), Longest: longest, Repeats: mostRepeats,
		Words: remote.Words{Read: "The " + server + " was called", Sent: "The " + server + " was sent the call", Asked: b.tool.Name + " was sent to the " + server,
			Before: "It was sent the call before", Subject: "the " + server + " ", Again: "The call could not be sent again: the server ", Crashed: "sent it"}}
}

// reserved reports whether the protocol sets a header itself.
func reserved(name string) bool {
	return name == "Last-Event-Id" || strings.HasPrefix(name, "Mcp-")
}

// hide returns text of the server in a form that can be stored and shown.
func (e *execution) hide(text string) string {
	return strings.ToValidUTF8(e.values.Redact(text), "\uFFFD")
}

// arguments returns the arguments of a call as they were written.
func arguments(call core.ToolCall) json.RawMessage {
	if core.IsNull(call.Arguments) {
		return json.RawMessage(`{}`)
	}
	return call.Arguments
}

// longest limits a call whose server keeps reporting progress: a step has no more time than that.
const longest = 90 * time.Second
