package a2atool

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

func TestTheCardIsFoundWhereTheDefinitionSays(t *testing.T) {
	for path, want := range map[string]string{
		"":                    "/.well-known/agent-card.json",
		"/":                   "/.well-known/agent-card.json",
		"/agents/trees":       "/agents/trees/.well-known/agent-card.json",
		"/agents/trees/":      "/agents/trees/.well-known/agent-card.json",
		"/cards/trees.json":   "/cards/trees.json",
		"/card.json?of=trees": "/card.json?of=trees",
		"/a%2Fb?of=trees#top": "/a%2Fb/.well-known/agent-card.json?of=trees",
	} {
		w := newWorld(t, completes(a2a.NewTextPart("ok")), false)
		w.def.URL += path
		if r := w.send(asks()); r.State != peer.Done {
			t.Errorf("%s: %+v", path, r)
		}
		got := w.requests("card")
		if len(got) != 1 || got[0].path != want {
			t.Errorf("%s: fetched %+v, want %s", path, got, want)
		}
		if got[0].header.Get("Authorization") != "Bearer "+token || got[0].header.Get("User-Agent") != "dormouse/test" {
			t.Errorf("headers %v", got[0].header)
		}
	}
}

// offer is an interface of a card; HOST is the server of the test.
func offer(url string, binding a2a.TransportProtocol, version a2a.ProtocolVersion) *a2a.AgentInterface {
	return &a2a.AgentInterface{URL: url, ProtocolBinding: binding, ProtocolVersion: version}
}

func TestTheEndpointIsChosenFromTheCard(t *testing.T) {
	good := offer("HOST/good", "JSONRPC", "1.0")
	for name, tt := range map[string]struct {
		offers []*a2a.AgentInterface
		want   string // the endpoint's path
		detail string // or a refusal
	}{
		"the first that fits":       {[]*a2a.AgentInterface{offer("HOST/grpc", "GRPC", "1.0"), nil, offer("HOST/old", "JSONRPC", "0.3"), good, offer("HOST/other", "JSONRPC", "1.0")}, "/good", ""},
		"a later minor version":     {[]*a2a.AgentInterface{offer("HOST/later", "JSONRPC", "1.7")}, "/later", ""},
		"a patch":                   {[]*a2a.AgentInterface{offer("HOST/patch", "JSONRPC", "1.0.1")}, "/patch", ""},
		"the one at home":           {[]*a2a.AgentInterface{offer("https://evil.example/a2a", "JSONRPC", "1.0"), good}, "/good", ""},
		"in capitals":               {[]*a2a.AgentInterface{offer("HTTP://HOSTNAME/good", "JSONRPC", "1.0")}, "/good", ""},
		"no fragment":               {[]*a2a.AgentInterface{offer("HOST/good#part", "JSONRPC", "1.0")}, "/good", ""},
		"nothing":                   {nil, "", "does not offer JSON-RPC of A2A 1.x, but nothing."},
		"null":                      {[]*a2a.AgentInterface{nil}, "", "but nothing."},
		"gRPC and REST":             {[]*a2a.AgentInterface{offer("HOST", "GRPC", "1.0"), offer("HOST", "HTTP+JSON", "1.0"), offer("HOST", "GRPC", "1.0")}, "", "but GRPC 1.0, HTTP+JSON 1.0."},
		"an old version":            {[]*a2a.AgentInterface{offer("HOST", "JSONRPC", "0.3.0")}, "", "but JSONRPC 0.3.0."},
		"a far version":             {[]*a2a.AgentInterface{offer("HOST", "JSONRPC", "10.0")}, "", "but JSONRPC 10.0."},
		"no version":                {[]*a2a.AgentInterface{offer("HOST", "JSONRPC", "")}, "", "but JSONRPC."},
		"another host":              {[]*a2a.AgentInterface{offer("http://127.0.0.2:1/a2a", "JSONRPC", "1.0")}, "", "another origin than that of its definition: http://127.0.0.2:1/a2a."},
		"another port":              {[]*a2a.AgentInterface{offer("http://127.0.0.1:1/a2a", "JSONRPC", "1.0")}, "", "another origin"},
		"another scheme":            {[]*a2a.AgentInterface{offer("https://HOSTNAME/a2a", "JSONRPC", "1.0")}, "", "another origin"},
		"a relative address":        {[]*a2a.AgentInterface{offer("/a2a", "JSONRPC", "1.0")}, "", "another origin"},
		"a user name":               {[]*a2a.AgentInterface{offer("http://user:pass@HOSTNAME/a2a", "JSONRPC", "1.0")}, "", "another origin"},
		"no address":                {[]*a2a.AgentInterface{offer("http://[", "JSONRPC", "1.0")}, "", "another origin"},
		"a secret":                  {[]*a2a.AgentInterface{offer("HOST/"+token, "JSONRPC", "1.0")}, "", "contains a secret"},
		"a secret at another place": {[]*a2a.AgentInterface{offer("http://evil.example/"+token, "JSONRPC", "1.0")}, "", "another origin than that of its definition: http://evil.example/[secret TOKEN]."},
		"a very long address":       {[]*a2a.AgentInterface{offer("HOST/"+strings.Repeat("x", 2000), "JSONRPC", "1.0")}, "", "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, false)
			w.act = w.stays(a2a.TaskStateWorking)
			host := strings.TrimPrefix(w.http.URL, "http://")
			w.card.SupportedInterfaces = nil
			for _, o := range tt.offers {
				if o != nil {
					o = offer(strings.NewReplacer("HOSTNAME", host, "HOST", w.http.URL).Replace(o.URL), o.ProtocolBinding, o.ProtocolVersion)
				}
				w.card.SupportedInterfaces = append(w.card.SupportedInterfaces, o)
			}
			r := w.send(asks())
			if tt.want != "" && (r.State != peer.Working || r.Task.Endpoint != w.http.URL+tt.want) {
				t.Errorf("report %+v", r)
			}
			if tt.want == "" && (r.State != peer.Failed || r.Code != peer.CodeRefused || r.Open || !strings.Contains(r.Detail, tt.detail)) {
				t.Errorf("report %+v", r)
			}
			if n := len(w.requests("SendMessage")); n > 0 != (tt.want != "") {
				t.Errorf("it was sent %d times", n)
			}
		})
	}
}

// TestATenantOfTheInterfaceIsSent: it is kept with the endpoint, because a look needs it too.
func TestATenantOfTheInterfaceIsSent(t *testing.T) {
	w := newWorld(t, nil, false)
	w.act = w.stays(a2a.TaskStateWorking)
	w.card.SupportedInterfaces[0].Tenant = "trees & more"
	r := w.send(asks())
	w.look(r)
	for _, method := range []string{"SendMessage", "GetTask"} {
		got := w.requests(method)
		if len(got) != 1 || got[0].path != "/a2a" || !strings.Contains(got[0].body, `"tenant":"trees \u0026 more"`) {
			t.Errorf("%s: %+v", method, got)
		}
	}
}

// TestOnlyWhatIsUsedOfACardMustBeRight: cards grow, and describe a lot.
func TestOnlyWhatIsUsedOfACardMustBeRight(t *testing.T) {
	w := newWorld(t, completes(a2a.NewTextPart("ok")), false)
	w.between(func(rw http.ResponseWriter, _ *http.Request, r request) bool {
		if r.method == "card" {
			_ = json.NewEncoder(rw).Encode(map[string]any{"supportedInterfaces": w.card.SupportedInterfaces, "securitySchemes": map[string]any{"x": map[string]any{"newScheme": 7}}, "skills": "many", "name": nil})
		}
		return r.method == "card"
	})
	if r := w.send(asks()); r.State != peer.Done {
		t.Errorf("report %+v", r)
	}
}

func TestACardThatCannotBeHad(t *testing.T) {
	for name, tt := range map[string]struct {
		status     int
		body, code string // no code: an error
		detail     string
	}{
		"absent":    {404, "", peer.CodeNotFound, "has no usable agent card: it answered 404 Not Found."},
		"denied":    {401, "", peer.CodeRefused, "denied access"},
		"forbidden": {403, "", peer.CodeRefused, "denied access"},
		"gone":      {410, "", peer.CodeRefused, "410"},
		"moved":     {302, "", peer.CodeRefused, "redirect"},
		"accepted":  {202, "{}", peer.CodeBadAnswer, "202"},
		"busy":      {429, "", "", "429"},
		"down":      {503, "", "", "503"},
		"a page":    {200, "<html>", peer.CodeBadAnswer, "not what the protocol says"},
		"a list":    {200, "[]", peer.CodeBadAnswer, "not what the protocol says"},
		"two":       {200, "{} {}", peer.CodeBadAnswer, "not what the protocol says"},
		"null":      {200, "null", peer.CodeRefused, "nothing"},
		"cut":       {200, `{"supportedInterfaces":[{"url":`, "", "ends too early"},
		"empty":     {200, "", "", "ends too early"},
		"deep":      {200, strings.Repeat("[", 400), peer.CodeBadAnswer, "nested too deeply"},
		"large":     {200, `{"name":"` + strings.Repeat("x", mostCard) + `"}`, peer.CodeBadAnswer, "more than 262144 bytes"},
		"before 1":  {200, `{"protocolVersion":"0.3.0","url":"http://x/","preferredTransport":"JSONRPC"}`, peer.CodeRefused, "but A2A 0.3.0."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, completes(), false)
			w.between(answering("card", tt.status, tt.body))
			r, err := w.peer().Send(t.Context(), asks())
			if tt.code == "" && (err == nil || !strings.Contains(err.Error(), tt.detail)) {
				t.Errorf("report %+v, %v", r, err)
			}
			if tt.code != "" && (err != nil || r.State != peer.Failed || r.Code != tt.code || r.Open || !strings.Contains(r.Detail, tt.detail)) {
				t.Errorf("report %+v, %v", r, err)
			}
		})
	}
}

// TestAnEndpointOfTheJournalMustHaveTheOriginOfTheDefinition: headers with secrets go there.
func TestAnEndpointOfTheJournalMustHaveTheOriginOfTheDefinition(t *testing.T) {
	w := newWorld(t, nil, false)
	for _, endpoint := range []string{"http://127.0.0.1:1/a2a", "https" + strings.TrimPrefix(w.http.URL, "http") + "/a2a", "http://u@" + strings.TrimPrefix(w.http.URL, "http://"), "/a2a", "http://["} {
		r := w.look(peer.Report{Task: peer.Task{ID: "task-1", Endpoint: endpoint}})
		if r.State != peer.Failed || r.Code != peer.CodeRefused || !r.Open {
			t.Errorf("%s: %+v", endpoint, r)
		}
		q := asks()
		q.Task = peer.Task{ID: "task-1", Endpoint: endpoint}
		if err := w.peer().Stop(t.Context(), q); err == nil {
			t.Errorf("%s: it was stopped", endpoint)
		}
	}
	if len(w.requests("")) > 0 {
		t.Errorf("requests %+v", w.requests(""))
	}
}

func TestADefinitionThatCannotBeCalledIsRefused(t *testing.T) {
	at := func(a agent.A2A) agent.Tool { return agent.Tool{Name: "ask", Agent: &agent.Callee{A2A: &a}} }
	for want, tool := range map[string]agent.Tool{
		"calls no A2A agent":                     {Name: "ask"},
		"tool ask calls no A2A agent":            {Name: "ask", Agent: &agent.Callee{Name: "other"}},
		"must be like https://":                  at(agent.A2A{URL: "ftp://x.example"}),
		"without a user name":                    at(agent.A2A{URL: "https://u:p@x.example"}),
		"agent desk: tool ask: the URL":          at(agent.A2A{URL: "https://"}),
		"A2a-Version is set by this program":     at(agent.A2A{URL: "https://x.example", Headers: map[string]string{"a2a-version": "2.0"}}),
		"Content-Type is set by this":            at(agent.A2A{URL: "https://x.example", Headers: map[string]string{"content-type": "x"}}),
		"may contain {secret:NAME}, but no":      at(agent.A2A{URL: "https://x.example", Headers: map[string]string{"X-Order": "{order}"}}),
		"a brace belongs to no placeholder; wri": at(agent.A2A{URL: "https://x.example", Headers: map[string]string{"X-Order": "{"}}),
	} {
		_, err := New(Options{}).Peer(agent.Definition{Name: "desk"}, tool)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestARedirectIsNotFollowed: it would send the headers to an address that the agent chooses.
func TestARedirectIsNotFollowed(t *testing.T) {
	for _, method := range []string{"card", "SendMessage"} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			elsewhere := newWorld(t, nil, false)
			w := newWorld(t, completes(), false)
			w.between(func(rw http.ResponseWriter, _ *http.Request, r request) bool {
				if r.method == method {
					rw.Header().Set("Location", elsewhere.http.URL)
					rw.WriteHeader(status)
					_, _ = io.WriteString(rw, "moved")
				}
				return r.method == method
			})
			if r := w.send(asks()); r.State != peer.Failed || r.Code != peer.CodeRefused || !strings.Contains(r.Detail, "redirect, which is not followed") {
				t.Errorf("%s %d: %+v", method, status, r)
			}
			if len(elsewhere.requests("")) > 0 {
				t.Errorf("%s %d was followed", method, status)
			}
		}
	}
}
