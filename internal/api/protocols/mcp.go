package protocols

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/mcpserver"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Inbox is what the MCP server reads, and how it answers a suspension alone. Its contracts are
// those of [query.Reader].
type Inbox interface {
	AwaitTree(ctx context.Context, c frontend.Caller, id string, wait time.Duration) (wire.Run, error)
	Approvals(ctx context.Context, c frontend.Caller, q query.List) (wire.Page[wire.Approval], error)
	Startable(ctx context.Context, c frontend.Caller) ([]wire.Agent, error)
	Suspension(ctx context.Context, c frontend.Caller, sus string) (*wire.Approval, *wire.Outcome, error)
	DecideSuspension(ctx context.Context, c frontend.Caller, sus string, d wire.Decision) (wire.DecisionAnswer, error)
}

// MCP serves agents as tools of the Model Context Protocol; see [mcpserver].
//
//	POST /mcp                                       one message
//	GET  /.well-known/oauth-protected-resource/mcp  what tokens it takes, where it takes any
type MCP struct{ Server }

// Name implements [httpapi.Protocol].
func (MCP) Name() string { return "mcp" }

const (
	mcpPath      = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// Routes implements [httpapi.Protocol].
func (d MCP) Routes() []httpapi.ProtocolRoute {
	some := []access.Role{access.Start, access.Read, access.Decide, access.Links}
	routes := []httpapi.ProtocolRoute{{Method: http.MethodPost, Path: mcpPath, Roles: some, Serve: d.post}}
	if d.Auth == Bearer {
		for _, path := range []string{metadataPath, metadataPath + mcpPath} {
			routes = append(routes, httpapi.ProtocolRoute{Method: http.MethodGet, Path: path, Serve: d.metadata})
		}
	}
	return routes
}

// View implements [httpapi.Protocol]. There are no streams to show.
func (MCP) View(url.Values) (httpapi.Viewer, error) {
	return nil, refusal.New(refusal.CodeInvalid, "this protocol has no streams")
}

// Refuse implements [httpapi.Protocol]: the error is of the request as a whole, and of no message
// in it.
func (d MCP) Refuse(w http.ResponseWriter, r *http.Request, p wire.Problem) {
	if p.Status == http.StatusUnauthorized && d.Auth == Bearer {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+d.address(r, metadataPath+mcpPath)+`"`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(core.Encode(map[string]any{"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": mcpserver.RPCCode(p), "message": p.Detail, "data": p}}))
}

// metadata tells OAuth clients about this resource (RFC 9728).
func (d MCP) metadata(w http.ResponseWriter, v *httpapi.Visit) error {
	return v.WriteJSON(w, http.StatusOK, struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{d.address(v.Request, mcpPath), d.Issuers, []string{"header"}, "Dormouse"})
}

// address is where people reach a path of the server.
func (d MCP) address(r *http.Request, path string) string {
	if d.Public != (access.PublicURL{}) {
		return d.Public.To(path)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + path
}

func (d MCP) post(w http.ResponseWriter, v *httpapi.Visit) error {
	var body json.RawMessage
	if err := v.ReadBody(w, &body); err != nil {
		return err
	}
	s := mcpserver.Server{Desk: desk{d, v}, Seals: seals{d.Server, v.Caller()}, Caller: v.Caller(), Version: d.Version}
	answer, err := s.Answer(v.Request, body)
	switch {
	case err != nil:
		return err
	case answer.MediaType == "application/json":
		return v.WriteJSON(w, answer.Status, json.RawMessage(answer.Body))
	case answer.MediaType != "":
		w.Header().Set("Content-Type", answer.MediaType)
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
	return nil
}

// desk implements [mcpserver.Desk]. Each operation needs the roles that it needs in the API.
type desk struct {
	mcp   MCP
	visit *httpapi.Visit
}

func (d desk) Agents(ctx context.Context) ([]wire.Agent, error) {
	return d.mcp.Inbox.Startable(ctx, d.visit.Caller())
}

func (d desk) Start(ctx context.Context, in mcpserver.Input) (run string, err error) {
	if err := d.visit.MayStart(); err != nil {
		return "", err
	}
	req := wire.StartRequest{Agent: in.Agent, Input: core.Encode(in.Text)}
	if in.Thread == "" {
		s, err := d.mcp.Runs.Start(ctx, d.visit.Caller(), keyed(in.Key), req)
		return s.Run.ID, err
	}
	thread := frontend.KeyedThread(d.visit.Caller().Tenant, in.Thread)
	if strings.HasPrefix(in.Thread, core.ThreadID("")) {
		thread, req.ThreadID = in.Thread, in.Thread
	} else {
		req.ThreadKey = in.Thread
	}
	req.MessageID = keyed(in.Key)
	s, err := d.mcp.Runs.Start(ctx, d.visit.Caller(), "", req)
	open, _ := errors.AsType[*refusal.Error](err)
	if !refusal.Is(err, refusal.CodeRunOpen, refusal.CodeIdempotencyMismatch) {
		return s.Run.ID, err
	}
	return d.message(ctx, thread, open, in, req)
}

// keyed tells the keys of this protocol from those of the API.
func keyed(key string) string {
	if key == "" {
		return ""
	}
	return "mcp:" + core.Digest([]byte(key))
}

// message gives the open run of a conversation the input. One that it has just been given is not
// given again: a call is sent again if its answer is lost.
func (d desk) message(ctx context.Context, thread string, open *refusal.Error, in mcpserver.Input, req wire.StartRequest) (string, error) {
	if open.Code == refusal.CodeRunOpen {
		run, err := d.mcp.Inbox.AwaitTree(ctx, d.visit.Caller(), open.RunID, 0)
		if err != nil {
			return "", err
		}
		if run.Agent != in.Agent {
			return "", open
		}
		newest, err := d.newest(open.RunID)
		if err != nil || in.Key == "" && newest.Text == in.Text && newest.By == d.visit.Caller().By {
			return open.RunID, err
		}
	}
	s, err := d.mcp.Runs.Message(ctx, d.visit.Caller(), thread, "", wire.MessageRequest{Input: req.Input, MessageID: req.MessageID})
	return s.Run.ID, err
}

// newest is the last message that a run was given.
func (d desk) newest(run string) (newest wire.MessageReceivedData, err error) {
	err = pages(func(after string) (wire.EventPage, error) {
		return d.visit.Events(run, query.EventQuery{After: after, Limit: 1000})
	}, func(e wire.Event) error {
		if core.EventType(e.Type) != core.EventMessageReceived {
			return nil
		}
		newest = wire.MessageReceivedData{}
		return e.Decode(&newest)
	})
	return newest, err
}

func (d desk) Await(ctx context.Context, run string, longest time.Duration) (wire.Run, error) {
	if err := d.visit.May(access.Read); err != nil {
		return wire.Run{}, err
	}
	return d.mcp.Inbox.AwaitTree(ctx, d.visit.Caller(), run, inTime(d.visit.Context(), longest))
}

func (d desk) Decide(ctx context.Context, run string, decision wire.Decision) (answer wire.DecisionAnswer, err error) {
	if err := d.visit.MayDecide(); err != nil {
		return answer, err
	}
	if run == "" {
		answer, err = d.mcp.Inbox.DecideSuspension(ctx, d.visit.Caller(), decision.Target, decision)
	} else {
		answer, err = d.mcp.Runs.Decide(ctx, d.visit.Caller(), run, decision)
	}
	answer.Status = http.StatusOK
	if answer.Code == string(refusal.CodeAccepted) {
		answer.Status = http.StatusAccepted
	}
	return answer, err
}

// Question needs the role to decide, and not that to read the run: it shows what is to be decided.
func (d desk) Question(ctx context.Context, sus string) (*wire.Approval, error) {
	if err := d.visit.May(access.Decide); err != nil {
		return nil, err
	}
	asked, _, err := d.mcp.Inbox.Suspension(ctx, d.visit.Caller(), sus)
	return asked, err
}

// Cancel shows a caller who may not read runs no more than that it was done.
func (d desk) Cancel(ctx context.Context, id string) (wire.Run, error) {
	if err := d.visit.May(access.Start, access.Decide); err != nil {
		return wire.Run{}, err
	}
	run, err := d.mcp.Runs.Cancel(ctx, d.visit.Caller(), id)
	if err == nil && d.visit.May(access.Read) != nil {
		run = wire.Run{ID: run.ID, ThreadID: run.ThreadID, Agent: run.Agent, Status: run.Status, Pending: []wire.Pending{}}
	}
	return run, err
}

func (d desk) Approvals(ctx context.Context, f mcpserver.Filter) (wire.Page[wire.Approval], error) {
	if err := d.visit.May(access.Read, access.Decide, access.Links); err != nil {
		return wire.Page[wire.Approval]{}, err
	}
	return d.mcp.Inbox.Approvals(ctx, d.visit.Caller(), query.List{Agent: f.Agent, Kind: f.Kind, Thread: f.ThreadID, Limit: f.Limit, Cursor: f.Cursor})
}
