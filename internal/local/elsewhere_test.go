package local

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// shop is an MCP server that knows a price, and demands a key.
func shop(t *testing.T, key string) *httptest.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "price_of", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "12.50 for " + string(req.Params.Arguments) + ", said " + key}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// shopper calls the tool once and says what came of it.
func shopper(a modeldouble.Asked) modeldouble.Said {
	last := a.Messages[len(a.Messages)-1]
	if last.Role == core.RoleTool {
		return modeldouble.Said{Turn: core.Turn{Text: "It says: " + last.Text()}, Piece: 4}
	}
	return modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{{ID: "c1", Name: "price", Arguments: json.RawMessage(`{"article":"A-1","count":1.50}`)}}}, Piece: 4}
}

// TestAModelAndAServerElsewhereAreCalledWithTheSecretsOfTheProcess, which are then found nowhere in
// what it keeps.
func TestAModelAndAServerElsewhereAreCalledWithTheSecretsOfTheProcess(t *testing.T) {
	const shopKey, modelKey = "the-key-of-the-shop", "the-key-of-the-models"
	server := shop(t, shopKey)
	endpoint := httptest.NewServer(modeldouble.OpenAIQuirks{Key: modelKey}.Handler(shopper))
	defer endpoint.Close()
	r, _ := countingRig(t)
	r.deploy(`name: desk
model: {provider: openai, model: m, base_url: "` + endpoint.URL + `/v1", api_key: MODELS}
tools:
  - {name: price, mcp: {server: shop, tool: price_of}, parameters: {type: object, properties: {article: {type: string}, count: {type: number}}}, read_only: true}
servers: {shop: {url: "` + server.URL + `/mcp", headers: {Authorization: "Bearer {secret:SHOP}"}, allow_private: true}}
permissions: {allow: [price]}
`)
	o := r.options()
	private, err := netguard.ReadPrivate([]string{strings.TrimPrefix(server.URL, "http://"), strings.TrimPrefix(endpoint.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	o.Private = private
	o.Secrets = func(_ context.Context, name string) (string, error) {
		if value, ok := map[string]string{"SHOP": shopKey, "MODELS": modelKey}[name]; ok {
			return value, nil
		}
		return "", secret.ErrNotSet
	}
	s := r.startWith(o)
	run := s.await(t, s.begin(t).ID, "done")
	if out := string(run.Output); !strings.Contains(out, `It says: 12.50 for {\"article\":\"A-1\",\"count\":1.50}, said [secret SHOP]`) {
		t.Errorf("the output is %s", out)
	}
	s.end(t)
	for _, kept := range append(everyFile(t, r.data), r.log.all.String()) {
		if strings.Contains(kept, shopKey) || strings.Contains(kept, modelKey) {
			t.Error("a secret is in what the server keeps")
		}
	}
}

// reaching is the options of a server whose operator allows these hosts.
func (r *rig) reaching(t *testing.T, hosts ...string) Options {
	t.Helper()
	o := r.options()
	var err error
	if o.Private, err = netguard.ReadPrivate(hosts); err != nil {
		t.Fatal(err)
	}
	return o
}

// everyFile is what is in the files of a directory.
func everyFile(t *testing.T, dir string) (texts []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// TestAModelOnThisMachineIsAskedByTheOperatorsLeaveAlone: an agent file cannot make the server send
// requests to services inside its network.
func TestAModelOnThisMachineIsAskedByTheOperatorsLeaveAlone(t *testing.T) {
	asked := make(chan string, 100)
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer inside.Close()
	r, _ := countingRig(t)
	host := strings.TrimPrefix(inside.URL, "http://")
	for base, want := range map[string]string{
		inside.URL + "/admin/delete":                                          "--allow-private-hosts " + host,
		"http://localhost" + host[strings.LastIndexByte(host, ':'):]:          "--allow-private-hosts localhost:",
		"http://169.254.169.254/latest/":                                      "metadata service",
		"http://[::ffff:127.0.0.1]" + host[strings.LastIndexByte(host, ':'):]: "--allow-private-hosts [::ffff:127.0.0.1]",
	} {
		r.deploy("name: desk\nmodel: {provider: openai, model: m, base_url: \"" + base + "\", headers: {X-Admin: \"yes\"}}\n")
		o := r.options()
		o.Strict = true
		s, err := Start(t.Context(), o)
		if err == nil {
			t.Errorf("%s: served at %s", base, s.Addr())
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", base, err, want)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the service inside was asked for %s", <-asked)
	}
}

// TestAServerDoesNotStartWithoutWhatItsAgentsNeed: whoever starts it is told all of it at once.
func TestAServerDoesNotStartWithoutWhatItsAgentsNeed(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy("name: desk\nmodel: {provider: bedrock, model: m}\n" +
		"tools: [{name: price, lambda: {function: f}, parameters: {type: object}}]\n")
	o := r.options()
	o.Strict = true
	_, err := Start(t.Context(), o)
	for _, want := range []string{`no provider of models "bedrock"; name one it has (openai, recorded, scripted)`, `no kind of tools "lambda"; name one it has (a2a, agent, client, go, http, mcp, recorded)`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestWhatTheProgramBringsCountsBeforeWhatIsThere: tests and builders put their own in the place of
// a provider.
func TestWhatTheProgramBringsCountsBeforeWhatIsThere(t *testing.T) {
	own := func(agent.Definition) (engine.Model, error) { return nil, secret.ErrNotSet }
	r, _ := countingRig(t)
	o := r.options()
	o.Models = map[string]program.Provider{agent.ProviderOpenAI: own}
	p, err := o.Program()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Models[agent.ProviderOpenAI](agent.Definition{}); err != secret.ErrNotSet {
		t.Errorf("%v", err)
	}
}
