// Package a2atool gives tasks to agents that run elsewhere and speak A2A 1.0 over JSON-RPC. It
// implements [engine.Peer] with the official SDK.
//
//	Send   agent card ── Again? ListTasks ── SendMessage, which returns at once
//	Look   GetTask
//	Stop   CancelTask, and GetTask if the agent does not cancel
//
// Each request has its own connection and its own time limit, and its answer is read completely
// before any of it is used. There are no streams. Everything an agent sends is untrusted: it is
// limited in size, contains no secret of this program when it is reported, and never causes a
// panic. Headers with secrets go only to the origin that the definition names.
//
// The package does not decide when to send, look or stop, and stores nothing.
package a2atool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Options are the dependencies of the agents. HTTP, Secrets and Clock are required.
type Options struct {
	// HTTP returns the client for one agent. The client decides which addresses may be reached:
	// private ones only if both the definition's AllowPrivate and the operator allow them, and
	// public ones never over plain HTTP with a secret. It also limits the headers of an answer.
	// This package adds the headers of the definition, the time limit and the limit of a body,
	// and follows no redirect, because that would send the headers to an address that the agent
	// chooses.
	HTTP func(a agent.A2A) *http.Client

	Secrets secret.Source // read at every call
	Clock   engine.Clock
	Logger  *slog.Logger // nil: [slog.Default]
	Version string       // version of this program, sent to agents
}

// Agents are the agents that run elsewhere. They are safe for concurrent use and keep nothing
// between calls.
type Agents struct{ o Options }

// New makes no network request.
func New(o Options) *Agents {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Agents{o: o}
}

// Peer returns the agent that one tool of a definition calls. The error says what is wrong with the
// definition; no request is made.
func (a *Agents) Peer(d agent.Definition, t agent.Tool) (engine.Peer, error) {
	if t.Agent == nil || t.Agent.A2A == nil {
		return nil, fmt.Errorf("agent %s: tool %s calls no A2A agent", d.Name, t.Name)
	}
	to := *t.Agent.A2A
	home, err := url.Parse(to.URL)
	if err != nil || home.Hostname() == "" || home.Scheme != "http" && home.Scheme != "https" || home.User != nil {
		return nil, fmt.Errorf("agent %s: tool %s: the URL of an A2A agent must be like https://agents.example.com, without a user name", d.Name, t.Name)
	}
	headers, err := remote.ReadHeaders(to.Headers, func(name string) bool { return strings.HasPrefix(name, "A2a-") })
	if err != nil {
		return nil, fmt.Errorf("agent %s: tool %s: %w", d.Name, t.Name, err)
	}
	return &remoteAgent{Agents: a, tool: t.Name, to: to, home: home, headers: headers}, nil
}

// remoteAgent is one agent that is ready to be called.
type remoteAgent struct {
	*Agents
	tool    string
	to      agent.A2A
	home    *url.URL // of the definition; its origin may get the headers
	headers remote.Headers
}

// call is one call of a method of the port: a few requests to one agent, one after the other.
type call struct {
	*remoteAgent
	request  engine.PeerRequest
	values   secret.Values
	web      *http.Client
	agent    *a2aclient.Client // set once the endpoint is known
	patience *remote.Patience
	task     peer.Task // as far as it is known
	posted   bool      // the message was sent
	recalled bool      // the task was read with its history
}

// longest limits a call of several requests.
const longest = time.Minute

// Send implements [engine.Peer].
func (r *remoteAgent) Send(ctx context.Context, req engine.PeerRequest) (peer.Report, error) {
	return r.do(ctx, req, "send", (*call).send)
}

// Look implements [engine.Peer].
func (r *remoteAgent) Look(ctx context.Context, req engine.PeerRequest) (peer.Report, error) {
	return r.do(ctx, req, "look", (*call).look)
}

// Stop implements [engine.Peer].
func (r *remoteAgent) Stop(ctx context.Context, req engine.PeerRequest) error {
	_, err := r.do(ctx, req, "stop", (*call).stop)
	return err
}

// do runs one call. A final answer of the agent becomes a report, except for stop, which needs a
// confirmation.
func (r *remoteAgent) do(ctx context.Context, req engine.PeerRequest, what string, run func(*call, context.Context) (peer.Report, error)) (peer.Report, error) {
	c := &call{remoteAgent: r, request: req, task: req.Task}
	values, headers, err := r.headers.Fill(ctx, r.o.Secrets)
	if err != nil {
		return c.unprepared(ctx, what, err)
	}
	inside, patience := remote.NewPatience(ctx, r.o.Clock, r.to.Limit(), longest)
	defer patience.End()
	c.values, c.patience, c.web = values, patience, r.client(headers)
	report, err := run(c, inside)
	if err != nil {
		r.o.Logger.Warn("an A2A agent did not do what was asked", "tool", r.tool, "run", req.Run, "call", what, "cause", c.line(causeOf(err), mostLogged))
	}
	var f *fault
	switch {
	case err == nil:
		return report, nil
	case ctx.Err() != nil && (!errors.As(err, &f) || f.code() == ""):
		return peer.Report{}, ctx.Err()
	case errors.As(err, &f) && f.code() != "" && what != "stop":
		return c.failed(f), nil
	}
	return peer.Report{}, errors.New(c.says(err.Error()))
}

// unprepared is a call whose secrets can't be had. It made no request: if the secret does not
// exist, a first Send can't succeed later either.
func (c *call) unprepared(ctx context.Context, what string, err error) (peer.Report, error) {
	switch {
	case ctx.Err() != nil:
		return peer.Report{}, ctx.Err()
	case what != "send" || c.request.Again || errors.Is(err, secret.ErrUnavailable):
		return peer.Report{}, err
	}
	return peer.Report{State: peer.Failed, Task: c.task, Code: peer.CodeRefused, Detail: c.line("The task was not sent: "+err.Error()+".", mostDetail)}, nil
}
