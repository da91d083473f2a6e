package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

var update = flag.Bool("update", false, "write the transcripts in testdata")

// agents are those of the shop that clients talk to. What one does follows from the user's words.
var agents = map[string]string{
	"desk": `
description: Pays, and asks questions.
tenants: [default, other]
model:
  provider: scripted
  turns:
    - {given: {no_result: true, user: 'pay (?P<amount>\d+) twice'}, calls: [{tool: pay, arguments: {amount: "${amount}", to: Ann}}, {tool: pay, arguments: {amount: "${amount}", to: Bob}}]}
    - {given: {no_result: true, user: 'pay (?P<amount>\d+)'}, say: Let me pay., calls: [{tool: pay, arguments: {amount: "${amount}", to: Ann}}]}
    - {given: {no_result: true, user: color}, calls: [{tool: ask_color, arguments: {}}]}
    - {given: {no_result: true, user: address}, calls: [{tool: ask_address, arguments: {}}]}
    - {given: {no_result: true, user: items}, calls: [{tool: ask_items, arguments: {}}]}
    - {given: {no_result: true, user: pick}, calls: [{tool: pick, arguments: {}}]}
    - {given: {no_result: true, user: report}, calls: [{tool: finish, arguments: {output: {orders: 3, open: [A-17]}}}]}
    - {given: {no_result: true}, say: Hello.}
    - {given: {tool: pay, result: paid}, say: Paid.}
    - {given: {tool: pay}, say: I did not pay.}
    - {given: {tool: ask_color, result: '(?P<what>.+)'}, say: "You said ${what}."}
    - {given: {tool: ask_address, result: '(?P<what>.+)'}, say: "You said ${what}."}
    - {given: {tool: ask_items, result: '(?P<what>.+)'}, say: "You said ${what}."}
    - {given: {tool: pick, result: '(?P<what>.+)'}, say: "You said ${what}."}
tools:
  - {name: pay, description: Pays an amount., go: pay, delivery: at_most_once}
  - {name: ask_color, description: Asks for a color., go: ask_color}
  - {name: ask_address, description: Asks for an address., go: ask_address}
  - {name: ask_items, description: Asks for items., go: ask_items}
  - {name: pick, description: Lets the user pick., client: true, result: {type: object, properties: {picked: {type: string}}, required: [picked]}}
permissions:
  allow: [pay, ask_color, ask_address, ask_items, pick]
  ask: [{tool: pay, when: {argument: amount, above: 10}, reason: Payments above 10 need approval.}]
  block: [{tool: pay, when: {argument: amount, above: 1000}, reason: This looks like fraud.}]
`,
	"guarded": `
description: Pays what its approver approves.
starters: ["token:anna", "token:ben"]
approvers: ["token:boss"]
` + payer + `permissions: {ask: [{tool: pay, reason: Ask the boss.}]}
`,
	"separated": `
description: Pays what another person approves.
` + payer + `permissions: {ask: [{tool: pay, reason: Four eyes., not_by: starter}]}
`,
	"voted": `
description: Pays what two people approve.
` + payer + `permissions: {ask: [{tool: pay, reason: Two of the office., approval: office}]}
groups: {office: ["token:anna", "token:ben", "token:boss"]}
approvals: {office: {group: office, need: 2}}
`,
	"planner": `
description: Plans, and has desk pay.
model: {provider: scripted, turns: [{given: {no_result: true}, calls: [{tool: delegate, arguments: {what: pay 50}}]}, {given: {tool: delegate, result: '(?P<what>.+)'}, say: "Planned: ${what}"}]}
tools:
  - {name: delegate, description: Gives work to desk., agent: desk, input: "{what}", parameters: {type: object, properties: {what: {type: string}}, required: [what]}}
permissions: {allow: [delegate]}
`,
	"decide": `
description: An agent with the name of a tool.
model: {provider: scripted, turns: [{say: Decided.}]}
tools: []
`,
}

const payer = `
model: {provider: scripted, turns: [{given: {no_result: true, user: '(?P<amount>\d+)'}, calls: [{tool: pay, arguments: {amount: "${amount}", to: Ann}}]}, {given: {tool: pay, result: paid}, say: Paid.}, {given: {tool: pay}, say: I did not pay.}]}
tools: [{name: pay, description: Pays an amount., go: pay, delivery: at_most_once}]
`

// callers and what they may do; all but eve are of one tenant.
var callers = map[string][]access.Role{
	"anna":    {access.Start, access.Read, access.Decide},
	"ben":     {access.Start, access.Read, access.Decide},
	"boss":    {access.Read, access.Decide},
	"reader":  {access.Start, access.Read},
	"starter": {access.Start},
	"hooks":   {access.Webhooks},
	"eve":     {access.Start, access.Read, access.Decide},
}

// shop is a whole server with agents, and what its agents have paid.
type shop struct {
	t         *testing.T
	url, data string

	mu   sync.Mutex
	paid []payment
}

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to"`
}

func (s *shop) payments() []payment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]payment(nil), s.paid...)
}

func newShop(t *testing.T, options ...func(*local.Options)) *shop {
	t.Helper()
	s := &shop{t: t, data: t.TempDir()}
	dir, tokens := t.TempDir(), ""
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range agents {
		write(filepath.Join(dir, name+".yaml"), "name: "+name+text)
	}
	for name, roles := range callers {
		tenant := access.Tenant
		if name == "eve" {
			tenant = "other"
		}
		tokens += access.Grant{Principal: access.Principal{Name: name, Tenant: tenant, Roles: roles}, Hash: access.HashOf(name)}.Line() + "\n"
	}
	file := filepath.Join(t.TempDir(), "tokens")
	write(file, tokens)
	o := local.Options{Addr: "127.0.0.1:0", Data: s.data, Agents: dir, TokensFile: file, Tools: s.tools(), Version: "test", Strict: true, Logger: slog.New(slog.DiscardHandler)}
	for _, change := range options {
		change(&o)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := local.Start(ctx, o)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	s.url = "http://" + server.Addr()
	return s
}

func (s *shop) tools() *tool.Registry {
	asks := func(name, message, schema string) tool.Function {
		return tool.Func(name, message, func(context.Context, tool.Call, struct{}) (any, error) {
			return nil, tool.Suspend{Action: name, Message: message, Schema: json.RawMessage(schema), Mode: core.UseDecisionAsToolResult}
		})
	}
	tools := tool.NewRegistry(nil)
	err := tools.Register(
		tool.Func("pay", "Pays.", func(_ context.Context, _ tool.Call, p payment) (any, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.paid = append(s.paid, p)
			return "paid", nil
		}),
		asks("ask_color", "Which color?", ""),
		asks("ask_address", "Where to?", `{"type":"object","properties":{"street":{"type":"string"},"number":{"type":"integer","minimum":1}},"required":["street","number"]}`),
		asks("ask_items", "Which items?", `{"type":"array","items":{"type":"string"}}`))
	if err != nil {
		s.t.Fatal(err)
	}
	return tools
}

// api is the HTTP API for a caller.
func (s *shop) api(name string) *client.Client {
	return client.New(s.url, client.WithToken(name), client.WithRetries(0))
}

// peer is a client of the protocol, byte by byte.
type peer struct {
	*shop
	name    string
	version string         // of the protocol; empty: before it was sent
	caps    map[string]any // what it declares
	log     *bytes.Buffer  // nil keeps no transcript
	id      int
}

const modern = "2026-07-28"

var (
	asking  = map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
	silent  = map[string]any{}
	polling = map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}
	both    = map[string]any{"elicitation": map[string]any{}, "extensions": polling["extensions"]}
)

func (s *shop) peer(name string, caps map[string]any) *peer {
	return &peer{shop: s, name: name, version: modern, caps: caps}
}

// reply is an answer to a message.
type reply struct {
	status int
	header http.Header
	raw    []byte
	Result result          `json:"result"`
	Error  *rpcError       `json:"error"`
	ID     json.RawMessage `json:"id"`
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

type result struct {
	ResultType        string                     `json:"resultType"`
	Content           []struct{ Text string }    `json:"content"`
	StructuredContent json.RawMessage            `json:"structuredContent"`
	IsError           bool                       `json:"isError"`
	InputRequests     map[string]json.RawMessage `json:"inputRequests"`
	RequestState      string                     `json:"requestState"`
	TaskID            string                     `json:"taskId"`
	Status            string                     `json:"status"`
	Result            *result                    `json:"result"`
	Meta              struct {
		Run struct {
			RunID    string `json:"run_id"`
			ThreadID string `json:"thread_id"`
			Status   string `json:"status"`
		} `json:"dormouse.dev/run"`
		Answers []struct{ Target, Code string } `json:"dormouse.dev/answers"`
	} `json:"_meta"`
}

func (r result) text() string {
	var lines []string
	for _, c := range r.Content {
		lines = append(lines, c.Text)
	}
	return strings.Join(lines, "\n")
}

// code is the stable code of a refusal, wherever it is.
func (r reply) code() string {
	var p struct{ Code string }
	raw := r.Result.StructuredContent
	if r.Error != nil {
		raw = r.Error.Data
	}
	_ = json.Unmarshal(raw, &p)
	return p.Code
}

// sus is the only question that is asked.
func (r reply) sus(t *testing.T) string {
	t.Helper()
	if len(r.Result.InputRequests) != 1 {
		t.Fatalf("not one question: %s", r.raw)
	}
	for id := range r.Result.InputRequests {
		return id
	}
	return ""
}

// send sends one message and returns the answer.
func (p *peer) send(method string, params map[string]any) reply {
	p.t.Helper()
	p.id++
	meta := map[string]any{}
	if p.version == modern {
		meta = map[string]any{"io.modelcontextprotocol/protocolVersion": p.version, "io.modelcontextprotocol/clientCapabilities": p.caps,
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"}}
	}
	sent := map[string]any{}
	for name, value := range params {
		if more, is := value.(map[string]any); is && name == "_meta" {
			for k, v := range more {
				meta[k] = v
			}
			continue
		}
		sent[name] = value
	}
	p.note("-> "+p.name+" "+method, core.Encode(sent))
	if len(meta) > 0 {
		sent["_meta"] = meta
	}
	r := p.post(core.Encode(map[string]any{"jsonrpc": "2.0", "id": p.id, "method": method, "params": sent}), method, params["name"])
	p.note("<- "+strconv.Itoa(r.status), r.raw)
	return r
}

// post sends a body as it is.
func (p *peer) post(body []byte, method string, tool any, change ...func(*http.Request)) reply {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.name)
	if p.version != "" {
		req.Header.Set("Mcp-Protocol-Version", p.version)
		req.Header.Set("Mcp-Method", method)
		if name, is := tool.(string); is {
			req.Header.Set("Mcp-Name", name)
		}
	}
	for _, c := range change {
		c(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	r := reply{status: res.StatusCode, header: res.Header, raw: raw}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(raw, &r); err != nil {
			p.t.Fatalf("%s: %v", raw, err)
		}
	}
	return r
}

// call calls a tool.
func (p *peer) call(tool string, arguments map[string]any, more ...map[string]any) reply {
	p.t.Helper()
	params := map[string]any{"name": tool, "arguments": arguments}
	for _, m := range more {
		for name, value := range m {
			params[name] = value
		}
	}
	return p.send("tools/call", params)
}

func (p *peer) ask(agent, input string) reply {
	p.t.Helper()
	return p.call(agent, map[string]any{"input": input})
}

// retry answers questions.
func (p *peer) retry(agent, input string, before reply, responses map[string]any) reply {
	p.t.Helper()
	return p.call(agent, map[string]any{"input": input}, map[string]any{"requestState": before.Result.RequestState, "inputResponses": responses})
}

// answer is what the user does with a decision that the model has proposed.
func (p *peer) answer(proposed reply, arguments, said map[string]any) reply {
	p.t.Helper()
	return p.call("decide", arguments, map[string]any{"requestState": proposed.Result.RequestState, "inputResponses": map[string]any{proposed.sus(p.t): said}})
}

// confirm proposes a decision, and confirms it.
func (p *peer) confirm(arguments map[string]any) reply {
	p.t.Helper()
	return p.answer(p.call("decide", arguments), arguments, accept(map[string]any{"confirmed": true}))
}

func accept(content map[string]any) map[string]any {
	return map[string]any{"action": "accept", "content": content}
}

func approved() map[string]any { return accept(map[string]any{"approved": true}) }

// done waits for the end of a run, by the API, and returns its output.
func (s *shop) done(run string) string {
	s.t.Helper()
	for {
		got, err := s.api("boss").PollRun(s.t.Context(), run, 5e9)
		if err != nil {
			s.t.Fatal(err)
		}
		if got.Status == client.StatusDone {
			text, _ := got.OutputText()
			return text
		}
		if got.Status == client.StatusWaiting && len(got.Pending) > 0 {
			s.t.Fatalf("%s waits: %+v", run, got.Pending)
		}
	}
}

// note adds to the transcript. What differs each time gets a name.
func (p *peer) note(what string, raw []byte) {
	if p.log == nil {
		return
	}
	p.log.WriteString(what + "\n")
	var out bytes.Buffer
	if json.Indent(&out, raw, "   ", "  ") != nil {
		out.Reset()
		out.Write(raw)
	}
	p.log.WriteString("   " + strings.TrimSpace(out.String()) + "\n")
}

var variable = []struct {
	pattern *regexp.Regexp
	name    string // $N is its number, by the order of first appearance
}{
	{regexp.MustCompile(`"requestState": "([^"]+)"`), "STATE"},
	{regexp.MustCompile(`(?:thr_|run_|sus_\d+_[a-z0-9]+_)([a-z0-9]{24,32})`), "thread$N"},
	{regexp.MustCompile(`sus_\d+_([a-z0-9]+)_thread`), "sus$N"},
	{regexp.MustCompile(`"(\d{4}-\d\d-\d\dT[\d:.]+Z)"`), "TIME"},
	{regexp.MustCompile(`(v1:[0-9a-f]{64})`), "FINGERPRINT"},
	{regexp.MustCompile(`(sha256:[0-9a-f]{64})`), "VERSION"},
	{regexp.MustCompile(`"decision_id": "([^"]+)"`), "DECISION$N"},
	{regexp.MustCompile(`"cursor": "([^"]+)"`), "CURSOR"},
}

func normal(transcript string) string {
	for _, v := range variable {
		names := map[string]string{}
		for _, m := range v.pattern.FindAllStringSubmatch(transcript, -1) {
			if _, known := names[m[1]]; known {
				continue
			}
			names[m[1]] = strings.ReplaceAll(v.name, "$N", strconv.Itoa(len(names)+1))
			transcript = strings.ReplaceAll(transcript, m[1], names[m[1]])
		}
	}
	return transcript
}

// golden holds a transcript against the one in testdata.
func golden(t *testing.T, name, transcript string) {
	t.Helper()
	file := filepath.Join("testdata", "stories", name+".txt")
	got := normal(transcript)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is meant, run the test with -update\n%s", file, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "line " + strconv.Itoa(i+1) + "\ngot  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one is longer"
}
