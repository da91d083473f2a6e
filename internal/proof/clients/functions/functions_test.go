package functions

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
)

const page = "https://desk.example" // whose scripts may call

func tools() dormouse.Program {
	none := func(context.Context, dormouse.Call, struct{}) (any, error) { return nil, nil }
	return dormouse.Program{Tools: []dormouse.Tool{dormouse.Func("clients.ask_color", "Asks.", none), dormouse.Func("clients.remember", "Stores.", none),
		dormouse.Func("clients.ship", "Ships.", none), dormouse.Func("clients.pay", "Pays.", pay, dormouse.AtMostOnce)}}
}

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to"`
}

func pay(_ context.Context, _ dormouse.Call, p payment) (any, error) {
	return map[string]any{"paid": p.Amount, "to": p.To}, nil
}

func start(t *testing.T) *Stack {
	t.Helper()
	s, err := Start(t.Context(), Options{Root: "../../../..", Program: tools(), Agents: "../agents", Origins: []string{page}, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if unknown := s.double.Unknown(); len(unknown) > 0 {
			t.Errorf("the double was asked for what it doesn't know: %q", unknown)
		}
	})
	return s
}

// as adds a token to requests of the API. No client has one for the streams.
type as struct {
	s     *Stack
	token string
}

func (a as) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.String(), a.s.API) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (s *Stack) client(roles ...string) *http.Client {
	return &http.Client{Transport: as{s, s.Token("anna", roles...)}}
}

// The official client of MCP gets its answer in that of its POST, and asks its user on the way.
func TestTheGoClientOfMCP(t *testing.T) {
	s := start(t)
	for _, test := range []struct {
		input, want string
		approved    bool
	}{{"hello", "Hello. What can I do?", false}, {"pay 50", "Paid 50.", true}, {"pay 50", "I did not pay.", false}} {
		opts := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approved": test.approved}}, nil
		}}
		c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).
			Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.API + "/mcp", HTTPClient: s.client("start", "read", "decide")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "desk", Arguments: map[string]any{"input": test.input}})
		if err != nil || got.IsError || got.Content[0].(*mcp.TextContent).Text != test.want {
			t.Errorf("%s: %v, %v", test.input, got, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The official client of A2A finds the agent by its card, and follows to the stream.
func TestTheGoClientOfA2A(t *testing.T) {
	s := start(t)
	card := s.ask(t, "GET", s.API+"/a2a/desk/.well-known/agent-card.json", "", s.bearer("read"))
	if want := `"url":"` + s.API + `/a2a/desk"`; card.status != 200 || !strings.Contains(strings.ReplaceAll(card.text, " ", ""), want) {
		t.Fatalf("%d %s lacks %s", card.status, card.text, want)
	}
	c, err := a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{a2a.NewAgentInterface(s.API+"/a2a/desk", a2a.TransportProtocolJSONRPC)},
		a2aclient.WithJSONRPCTransport(s.client("start", "read")))
	if err != nil {
		t.Fatal(err)
	}
	var last a2a.Event
	for e, err := range c.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("pay 50"))}) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if update, ok := last.(*a2a.TaskStatusUpdateEvent); !ok || update.Status.State != a2a.TaskStateInputRequired {
		t.Errorf("the stream ends with %+v", last)
	}
}

// answer is one of the stack.
type answer struct {
	status int
	http.Header
	text string
}

func (s *Stack) bearer(roles ...string) [2]string {
	return [2]string{"Authorization", "Bearer " + s.Token("anna", roles...)}
}

// ask follows no redirect.
func (s *Stack) ask(t *testing.T, method, url, body string, header ...[2]string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		r.Header.Set(h[0], h[1])
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{got.StatusCode, got.Header, string(text)}
}

const chat = `{"id":"chat-1","trigger":"submit-message","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hello"}]}]}`

// What a browser does for a page of another site: it asks the API and the address of streams before
// it sends what a page may not send unasked, and after the redirect it names no origin.
func TestAPageOfAnotherSiteFollowsToTheStream(t *testing.T) {
	s := start(t)
	sends := [2]string{"Access-Control-Request-Headers", "authorization,content-type,x-ai-sdk-version"}
	asked := s.ask(t, "OPTIONS", s.API+"/ai-sdk/desk", "", [2]string{"Origin", page}, [2]string{"Access-Control-Request-Method", "POST"}, sends)
	for _, name := range strings.Split(sends[1], ",") {
		if !strings.Contains(asked.Get("Access-Control-Allow-Headers"), name) || asked.Get("Access-Control-Allow-Origin") != page {
			t.Fatalf("the page may not send %s: %v", name, asked.Header)
		}
	}
	sent := s.ask(t, "POST", s.API+"/ai-sdk/desk", chat, [2]string{"Origin", page}, [2]string{"Sec-Fetch-Site", "cross-site"}, [2]string{"Content-Type", "application/json"}, [2]string{"X-AI-SDK-Version", "6"}, s.bearer("start", "read"))
	to := sent.Get("Location")
	if sent.status != 303 || sent.Get("Access-Control-Allow-Origin") != page || !strings.HasPrefix(to, s.Streams+"/v1/streams/") {
		t.Fatalf("%d %v %s", sent.status, sent.Header, sent.text)
	}
	null := [2]string{"Origin", "null"}
	asked = s.ask(t, "OPTIONS", to, "", null, [2]string{"Access-Control-Request-Method", "GET"}, [2]string{"Access-Control-Request-Headers", "x-ai-sdk-version"})
	if asked.status != 204 || asked.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(asked.Get("Access-Control-Allow-Headers"), "*") {
		t.Errorf("the page may not go on to the stream: %d %v", asked.status, asked.Header)
	}
	shown := s.ask(t, "GET", to, "", null, [2]string{"Sec-Fetch-Site", "cross-site"}, [2]string{"X-AI-SDK-Version", "6"})
	if shown.status != 200 || shown.Get("Access-Control-Allow-Origin") != "*" || !strings.HasSuffix(shown.text, "data: [DONE]\n\n") {
		t.Errorf("%d %v %s", shown.status, shown.Header, shown.text)
	}
	foreign := s.ask(t, "POST", s.API+"/ai-sdk/desk", chat, [2]string{"Origin", "https://evil.example"}, [2]string{"Sec-Fetch-Site", "cross-site"}, [2]string{"Content-Type", "application/json"}, s.bearer("start", "read"))
	if foreign.status != 403 || foreign.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page that may not call: %d %v", foreign.status, foreign.Header)
	}
}

// The gateway lets no one in without a token, but to what tells how to get one.
func TestEachRouteNeedsAToken(t *testing.T) {
	s := start(t)
	for _, rt := range protocols.Routes() {
		path := strings.NewReplacer("{agent}", "desk", "{chat}", "c", "{run}", "r", "{thread}", "t").Replace(rt.Path)
		if got := s.ask(t, rt.Method, s.API+path, "{}"); (got.status == 401) == rt.Public {
			t.Errorf("%s %s: %d %s", rt.Method, path, got.status, got.text)
		}
	}
	var resource struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	got := s.ask(t, "GET", s.API+"/.well-known/oauth-protected-resource/mcp", "")
	if err := json.Unmarshal([]byte(got.text), &resource); err != nil || resource.Resource != s.API+"/mcp" || len(resource.Servers) != 1 || resource.Servers[0] != s.issuer.Name {
		t.Errorf("%d %s, %v", got.status, got.text, err)
	}
	for _, method := range []string{"GET", "DELETE"} { // of older clients, which go on without
		if got := s.ask(t, method, s.API+"/mcp", "", s.bearer("read")); got.status != 405 || got.Get("Allow") != "POST" {
			t.Errorf("%s /mcp: %d %v", method, got.status, got.Header)
		}
	}
}

// To answer needs the role, through each function that takes answers.
func TestADecisionThroughTheAPIFunctionNeedsTheRole(t *testing.T) {
	s := start(t)
	const message = `{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"pay 50"}]`
	sent := s.ask(t, "POST", s.API+"/ag-ui/desk", message+"}", s.bearer("start", "read"))
	text := s.ask(t, "GET", sent.Get("Location"), "").text
	_, rest, _ := strings.Cut(text, `"interrupts":[{"id":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("nothing is asked: %s", text)
	}
	answer := message + `,"resume":[{"interruptId":"` + id + `","status":"resolved","payload":{"approved":true}}]}`
	if got := s.ask(t, "POST", s.API+"/ag-ui/desk", answer, s.bearer("start", "read")); got.status != 403 || !strings.Contains(got.text, "role_required") {
		t.Errorf("without the role: %d %s", got.status, got.text)
	}
	done := s.ask(t, "POST", s.API+"/ag-ui/desk", answer, s.bearer("decide", "read"))
	if text := s.ask(t, "GET", done.Get("Location"), "").text; !strings.Contains(text, "Paid 50.") {
		t.Errorf("with the role: %d %s %s", done.status, done.text, text)
	}
}
