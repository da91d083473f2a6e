package local

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// planted are the secrets of the test, by the names that the agent calls them.
var planted = map[string]string{
	"MODEL_KEY": "planted+model/key=7f31", "GATEWAY": "planted-gateway-5c02", "ORDERS": "planted\"orders&c9<1", "CRM": "planted-crm-b7e4",
	"UNUSED": "planted-by-the-way-33aa",
}

// blabbing is an agent whose model, service and MCP server are all reached with a secret.
const blabbing = `
name: desk
model:
  provider: openai
  model: m
  base_url: MODEL/v1
  api_key: MODEL_KEY
  headers: {X-Gateway: "{secret:GATEWAY}"}
servers:
  crm: {url: "CRMURL", allow_private: true, headers: {Authorization: "Bearer {secret:CRM}"}}
tools:
  - name: orders
    description: Finds orders.
    http: {url: "ORDERSURL/orders?how={how}", headers: {X-Key: "{secret:ORDERS}"}, allow_private: true, retries: 0}
    parameters: {type: object, properties: {how: {type: string}}}
  - {name: look, description: Looks into the CRM., mcp: {server: crm}, parameters: {type: object, properties: {how: {type: string}}}}
permissions: {allow: [orders, look]}
effects:
  - {name: lint, tools: [look], command: [sh, -c, "echo linted; env; cat leaked; cat ../../*/data/link.keys"], workspace: work}
`

// repeated is what a request came with, as somebody careless would repeat it.
func repeated(h http.Header) string {
	raw, _ := json.Marshal(h)
	all := fmt.Sprint(h) + " " + string(raw)
	for _, values := range h {
		for _, v := range values {
			bare := strings.TrimPrefix(v, "Bearer ")
			all += " " + url.QueryEscape(bare) + " " + url.PathEscape(bare) + " " + base64.StdEncoding.EncodeToString([]byte(bare))
		}
	}
	return all
}

// careless are the servers behind the agent. Each repeats what it was sent, in a good answer and in
// a bad one.
func careless(t *testing.T) (agent string) {
	orders := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("how") == "badly" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, "you sent "+repeated(r.Header))
	}))
	t.Cleanup(orders.Close)
	server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := "you sent " + repeated(req.Extra.Header)
		if strings.Contains(string(req.Params.Arguments), "badly") {
			return nil, errors.New(text)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: map[string]any{"sent": text}}, nil
	})
	crm := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(crm.Close)
	model := httptest.NewServer(modeldouble.OpenAI(blabber))
	t.Cleanup(model.Close)
	return strings.NewReplacer("MODEL/v1", model.URL+"/v1", "CRMURL", crm.URL, "ORDERSURL", orders.URL).Replace(blabbing)
}

// blabber calls every tool in every way, then says what it was sent; told to fail, it fails the way
// it is told.
func blabber(a modeldouble.Asked) modeldouble.Said {
	said, results := "", 0
	for _, m := range a.Messages {
		if m.Role == core.RoleUser {
			said = m.Text()
		}
		if m.Role == core.RoleTool {
			results++
		}
	}
	if fault, ok := strings.CutPrefix(said, "fail "); ok {
		return modeldouble.Said{Turn: core.Turn{Text: "half of it"}, Fault: modeldouble.Fault(fault)}
	}
	if results > 0 {
		return modeldouble.Said{Turn: core.Turn{Text: "I was sent " + repeated(a.Header), InputTokens: 1, OutputTokens: 1}, Piece: 7}
	}
	var turn core.Turn
	for i, tool := range []string{"orders", "look"} {
		for j, how := range []string{"well", "badly"} {
			turn.Calls = append(turn.Calls, core.ToolCall{ID: fmt.Sprintf("c%d%d", i, j), Name: tool, Arguments: core.Encode(map[string]string{"how": how})})
		}
	}
	return modeldouble.Said{Turn: turn, Piece: 9}
}

func TestAPlantedSecretIsFoundNowhere(t *testing.T) {
	r := newRig(t, func(context.Context) error { return nil })
	r.deploy(careless(t))
	r.leak(planted)
	t.Setenv("DORMOUSE_SECRET_UNUSED", planted["UNUSED"]) // no agent names it
	o := r.options()
	o.Logger = slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Record = filepath.Join(t.TempDir(), "recorded.jsonl")
	o.Commands = true
	o.Private, _ = netguard.ReadPrivate([]string{"127.0.0.1"})
	asked := map[string]bool{}
	o.Secrets = func(_ context.Context, name string) (string, error) {
		if value, ok := planted[name]; ok {
			asked[name] = true
			return value, nil
		}
		return "", secret.ErrNotSet
	}
	s := r.startWith(o)
	places := map[string]string{}
	keep := func(place string, what any) { places[place] += string(core.Encode(what)) + fmt.Sprintf("%+v", what) }
	for _, input := range []string{"do it all", "fail forbidden", "fail refused", "fail not_found"} {
		run, err := s.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: core.Encode(input)}, "")
		if err != nil {
			t.Fatal(err)
		}
		run = s.await(t, run.ID, "done")
		keep("the run of "+input, run)
		if ended := *run.Reason; (ended == "natural_end") != (input == "do it all") {
			t.Errorf("%s: ended with %s, %+v", input, ended, run.Error)
		}
		messages, err := client.Collect(s.Messages(t.Context(), run.ThreadID, client.MessageOptions{Data: true}))
		if err != nil {
			t.Fatal(err)
		}
		keep("the messages of "+input, messages)
		for e, err := range s.Events(t.Context(), run.ID, client.EventOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			keep("the events of "+input, string(e.Data))
		}
		_, err = s.Decide(t.Context(), run.ID, wire.Decision{Target: "sus_0_gone", Action: "resume"})
		keep("a problem", fmt.Sprint(err))
	}
	shownAgent, err := s.Agent(t.Context(), "desk")
	if err != nil {
		t.Fatal(err)
	}
	keep("the agent", shownAgent)
	s.end(t)
	places["the log"] = r.log.all.String()
	places["the recording"] = contentOf(t, o.Record)
	for file, text := range filesIn(t, r.data) {
		places["the file "+file] = text
	}
	if len(asked) != len(planted)-1 {
		t.Errorf("only %v were asked for: the test does not show what it says", asked)
	}
	for _, must := range []string{"the file dormouse.db", "the events of do it all", "the recording", "the log"} {
		if len(places[must]) < 200 {
			t.Errorf("%s holds %d bytes: the test does not show what it says", must, len(places[must]))
		}
	}
	if key := strings.TrimSpace(contentOf(t, filepath.Join(r.data, linkKeysFile))); strings.Contains(places["the messages of do it all"], key) {
		t.Error("a command shows the key that signs links")
	}
	if all := places["the messages of do it all"]; !strings.Contains(all, "linted") || !strings.Contains(all, "PATH=") || !strings.Contains(all, "[secret LINK_KEY_1]") {
		t.Errorf("the command did not run, or did not print what it found: %s", all)
	}
	if !strings.Contains(places["the messages of do it all"], "you sent") {
		t.Error("no tool repeated what it was sent")
	}
	for name, value := range planted {
		for form, text := range forms(value) {
			for place, all := range places {
				if at := strings.Index(all, text); at >= 0 {
					t.Errorf("%s is in %s, %s: ...%.120q", name, place, form, all[max(0, at-40):])
				}
			}
		}
	}
}

// leak puts secrets into a file in the workspace of commands, as careless tools do.
func (r *rig) leak(values map[string]string) {
	r.t.Helper()
	work := filepath.Join(r.agents, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "leaked"), core.Encode(values), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// forms are the ways in which a value is written.
func forms(value string) map[string]string {
	quoted, _ := json.Marshal(value)
	return map[string]string{"plain": value, "in JSON": strings.Trim(string(quoted), `"`), "in a query": url.QueryEscape(value), "in a path": url.PathEscape(value),
		"in base64": base64.StdEncoding.EncodeToString([]byte(value))}
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// filesIn are all files of a directory, the journal of the database among them.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[d.Name()] = contentOf(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
