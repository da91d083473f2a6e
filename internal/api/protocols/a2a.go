package protocols

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/dormouse-dev/dormouse/internal/api/a2a"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runinput"
)

// Reads is what A2A reads of runs and agents. Its contracts are those of [query.Reader].
type Reads interface {
	AwaitTree(ctx context.Context, c frontend.Caller, id string, wait time.Duration) (wire.Run, error)
	Thread(ctx context.Context, c frontend.Caller, id string) (wire.Thread, error)
	Runs(ctx context.Context, c frontend.Caller, q query.List) (wire.Page[wire.Run], error)
	ThreadRuns(ctx context.Context, c frontend.Caller, thread string, q query.List) (wire.Page[wire.Run], error)
	Agent(ctx context.Context, c frontend.Caller, name string) (wire.Agent, error)
	Agents(ctx context.Context, c frontend.Caller) (wire.Page[wire.Agent], error)
}

// A2A serves agents to A2A 1.0 clients, over JSON-RPC. A task is a run. The context of a task is
// its thread, under its id, or under the key that a client has given it.
//
//	GET  /a2a/AGENT/.well-known/agent-card.json  the agent's card
//	GET  /.well-known/agent-card.json            the same, if there is only one agent
//	POST /a2a/AGENT                              JSON-RPC
type A2A struct{ Server }

// Name implements [httpapi.Protocol].
func (A2A) Name() string { return "a2a" }

const cardPath = "/.well-known/agent-card.json"

// Routes implements [httpapi.Protocol]. Agents belong to tenants, so their cards need a token, too.
func (d A2A) Routes() []httpapi.ProtocolRoute {
	anyone := []access.Role{access.Read, access.Start, access.Decide}
	return []httpapi.ProtocolRoute{
		{Method: http.MethodGet, Path: cardPath, Roles: anyone, Serve: d.onlyCard},
		{Method: http.MethodGet, Path: "/a2a/{agent}" + cardPath, Roles: anyone, Serve: d.card},
		{Method: http.MethodPost, Path: "/a2a/{agent}", Roles: []access.Role{access.Read}, Serve: d.call},
	}
}

// Refuse implements [httpapi.Protocol]: as an error that belongs to no request.
func (A2A) Refuse(w http.ResponseWriter, _ *http.Request, p wire.Problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(failed(nil, a2a.Failure(p)))
}

// View implements [httpapi.Protocol].
func (A2A) View(about url.Values) (httpapi.Viewer, error) {
	after, err := number(about, "after")
	if err != nil {
		return nil, err
	}
	id := json.RawMessage(about.Get("id"))
	switch {
	case !isID(id):
		return nil, refusal.New(refusal.CodeInvalid, "id must be that of a JSON-RPC request")
	case len(id) == 0: // the request had none
		id = nil
	}
	return &taskStream{id: id, view: a2a.View{Context: about.Get("context"), After: int64(after), Message: about.Get("message"),
		Hold: about["hold"], Follow: about.Has("follow")}}, nil
}

// taskStream writes the updates of a task as server-sent events, each of them a JSON-RPC response.
// A stream that ends early needs no word: the client sees that its task isn't over, and subscribes.
type taskStream struct {
	id     json.RawMessage // of the request
	view   a2a.View
	stream *a2a.Stream
}

// Recall implements [httpapi.Recaller].
func (t *taskStream) Recall(run string, events func(id, after string) (wire.EventPage, error)) {
	t.view.Recall = func() (*project.Files, error) {
		files := &project.Files{}
		return files, pages(func(after string) (wire.EventPage, error) { return events(run, after) }, func(e wire.Event) error {
			_, err := files.Take(e)
			return err
		})
	}
}

func (t *taskStream) Header(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	t.stream = a2a.NewStream(t.view)
}

func (t *taskStream) Push(e wire.Event) ([]byte, error) {
	events, err := t.stream.Push(e)
	if err != nil {
		return nil, err
	}
	return t.written(events), nil
}

func (t *taskStream) Rest() []byte { return t.written(t.stream.Rest()) }

func (t *taskStream) Break() []byte { return nil }

func (t *taskStream) Over() bool { return t.stream.Over() }

func (t *taskStream) written(events []sdk.Event) (out []byte) {
	for _, e := range events {
		out = append(out, frame(core.Encode(response{"2.0", t.id, sdk.StreamResponse{Event: e}}))...)
	}
	return out
}

func frame(data []byte) []byte { return slices.Concat([]byte("data: "), data, []byte("\n\n")) }

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

// request is the envelope of a JSON-RPC request.
type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// longestID is that of a request which is answered with a stream: the id may be part of the address
// to which the client is sent.
const longestID = 255

// isID says whether a request may have this id: a text, a number or none.
func isID(raw json.RawMessage) bool {
	var id any
	if len(raw) == 0 || json.Unmarshal(raw, &id) != nil {
		return len(raw) == 0
	}
	switch id.(type) {
	case nil, string, float64:
		return true
	}
	return false
}

func (d A2A) onlyCard(w http.ResponseWriter, v *httpapi.Visit) error {
	agents, err := d.Reads.Agents(v.Context(), v.Caller())
	if err != nil {
		return err
	}
	if len(agents.Items) != 1 {
		return refusal.New(refusal.CodeAgentNotFound, "this server has %d agents, each with its own card; get /a2a/AGENT%s", len(agents.Items), cardPath)
	}
	return d.writeCard(w, v, agents.Items[0])
}

func (d A2A) card(w http.ResponseWriter, v *httpapi.Visit) error {
	agent, err := d.Reads.Agent(v.Context(), v.Caller(), v.PathValue("agent"))
	if err != nil {
		return err
	}
	return d.writeCard(w, v, agent)
}

func (d A2A) writeCard(w http.ResponseWriter, v *httpapi.Visit, agent wire.Agent) error {
	at := d.Public.To("/a2a/" + url.PathEscape(agent.Name))
	if d.Public == (access.PublicURL{}) {
		at = (&url.URL{Scheme: map[bool]string{false: "http", true: "https"}[v.TLS != nil], Host: v.Host}).String() + at
	}
	return v.WriteJSON(w, http.StatusOK, a2a.Card(agent, a2a.Site{URL: at, Auth: d.Auth, Inputs: files, Pushes: d.Pushes != nil}))
}

// files are the media types that the files of a message may have.
var files = slices.Concat(runinput.ImageTypes, runinput.DocumentTypes)

func takesFile(mediaType string) bool { return slices.Contains(files, mediaType) }

// call answers one JSON-RPC request. Refusals that concern the task are errors of the protocol;
// those that concern the caller or the server have an HTTP status, which proxies and retrying
// clients understand.
func (d A2A) call(w http.ResponseWriter, v *httpapi.Visit) error {
	var body json.RawMessage
	if err := v.ReadBody(w, &body); err != nil {
		return err
	}
	var req request
	_ = json.Unmarshal(body, &req) // the SDK says what is wrong with it
	h := &a2aRequest{d: d, v: v, params: req.Params}
	streams := slices.Contains([]string{"SendStreamingMessage", "SubscribeToTask"}, req.Method) && req.Version == "2.0" && isID(req.ID) && len(req.ID) <= longestID
	err := speaks(v.Request, req.Method)
	switch {
	case err == nil && streams:
		return d.stream(w, h, req)
	case err != nil && isID(req.ID):
		return v.WriteJSON(w, http.StatusOK, json.RawMessage(failed(req.ID, err)))
	}
	answer := served(v.Context(), h, body)
	if h.fault != nil {
		return h.fault
	}
	return v.WriteJSON(w, http.StatusOK, json.RawMessage(answer))
}

// speaks refuses other versions of the protocol. A client of version 0.3 sends none, and is known
// by the names of its methods.
func speaks(r *http.Request, method string) error {
	version := r.Header.Get(sdk.SvcParamVersion)
	if version == "" {
		version = r.URL.Query().Get(sdk.SvcParamVersion)
	}
	if major, _, _ := strings.Cut(version, "."); version != "" && major != "1" || strings.Contains(method, "/") {
		return sdk.NewError(sdk.ErrVersionNotSupported, "this server speaks A2A 1.0; send the header A2A-Version: 1.0 and the methods of that version")
	}
	return nil
}

// stream does what the request asks for, and shows what comes of it.
func (d A2A) stream(w http.ResponseWriter, h *a2aRequest, req request) error {
	if err := h.v.MayStream(); err != nil {
		return err
	}
	run, about, err := h.begin(req.Method)
	if err == nil {
		about.Set("id", string(req.ID))
		return h.v.Show(w, run, about)
	}
	if err = h.refused(err); h.fault != nil {
		return h.fault
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(frame(failed(req.ID, err)))
	return nil
}

// served is the SDK's answer to a request.
func served(ctx context.Context, h a2asrv.RequestHandler, body []byte) []byte {
	w := &answer{header: http.Header{}}
	r := (&http.Request{Method: http.MethodPost, URL: &url.URL{Path: "/"}, Header: http.Header{}, Body: http.NoBody}).WithContext(ctx)
	r.Body = readCloser{bytes.NewReader(body)}
	a2asrv.NewJSONRPCHandler(h).ServeHTTP(w, r)
	return bytes.TrimSpace(w.Bytes())
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// answer keeps an answer, so that its size is bounded like that of any other.
type answer struct {
	header http.Header
	bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(int) {}

// failed is the answer to a request that has failed before the SDK saw it. The SDK writes it, so
// that all errors look alike.
func failed(id json.RawMessage, err error) []byte {
	body := core.Encode(request{Version: "2.0", ID: id, Method: "GetTask", Params: json.RawMessage("{}")})
	return served(context.Background(), failing{err: err}, body)
}

// failing fails each request that [failed] makes.
type failing struct {
	a2asrv.RequestHandler
	err error
}

func (f failing) GetTask(context.Context, *sdk.GetTaskRequest) (*sdk.Task, error) { return nil, f.err }

// refused is why a request can't be done, as the protocol has it. Faults and limits of the server
// are kept: they are answered with an HTTP status.
func (h *a2aRequest) refused(err error) error {
	if errors.As(err, new(*sdk.Error)) || err == nil {
		return err
	}
	e, ok := problems.Refused(err)
	doc := problems.Document(e)
	if !ok || doc.Status >= 500 || doc.Status == http.StatusTooManyRequests || e.Code == refusal.CodeAgentNotFound {
		h.fault = err
	}
	return a2a.Failure(doc)
}
