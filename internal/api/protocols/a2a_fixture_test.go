package protocols_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// desk is a server with the agents of testdata, as the holder of a token sees it.
type desk struct {
	*testing.T
	*served
	tenant, token, agent string
}

// served is a server, and a ledger of what was paid, by tenant.
type served struct {
	url, data, tokens, agents string

	mu   sync.Mutex
	paid map[string][]string
}

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to"`
}

func (s *served) pay(_ context.Context, call tool.Call, p payment) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paid[call.Tenant] = append(s.paid[call.Tenant], p.To)
	return map[string]any{"paid": p.Amount, "to": p.To}, nil
}

func askColor(context.Context, tool.Call, struct{}) (any, error) {
	return nil, tool.Suspend{Action: "choose_color", Message: "Which color?", Mode: core.UseDecisionAsToolResult, Kind: core.KindInput}
}

func destroy(context.Context, tool.Call, struct{}) (any, error) {
	return nil, errors.New("it is destroyed")
}

// Tests share one server, because a server takes longer to start than to do what most tests ask of
// it. Each has its own tenant.
var shared struct {
	once sync.Once
	*served
	end  func() error
	next atomic.Int64
}

const mostTenants = 1000

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if shared.end != nil {
		if err := shared.end(); err != nil {
			fmt.Println(err)
			code = 1
		}
		_ = os.RemoveAll(shared.data)
	}
	os.Exit(code)
}

// newDesk is a desk of the shared server.
func newDesk(t *testing.T) *desk {
	t.Helper()
	shared.once.Do(func() {
		data, err := os.MkdirTemp("", "a2a")
		if err != nil {
			t.Fatal(err)
		}
		var tokens strings.Builder
		for n := range mostTenants {
			tokens.WriteString(token(fmt.Sprintf("t%d", n), fmt.Sprintf("t%d", n), access.Admin))
		}
		shared.served = &served{data: data, tokens: tokens.String()}
		if shared.end, err = shared.start(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	name := fmt.Sprintf("t%d", shared.next.Add(1)%mostTenants)
	return &desk{T: t, served: shared.served, tenant: name, token: name + "-secret", agent: "desk"}
}

// lonelyDesk is a desk of another server, which needs no token, or those of these lines. end ends
// the server.
func lonelyDesk(t *testing.T, data string, tokens ...string) (d *desk, end func()) {
	t.Helper()
	d = &desk{T: t, served: &served{data: data, tokens: strings.Join(tokens, "")}, tenant: access.Tenant, agent: "desk"}
	stop, err := d.start(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return d, end
}

func (s *served) start(ctx context.Context) (end func() error, err error) {
	tools := tool.NewRegistry(nil)
	s.paid = map[string][]string{}
	err = errors.Join(tools.Register(tool.Func("pay", "Pays.", s.pay, tool.AtMostOnce())), tools.Register(tool.Func("ask_color", "Asks.", askColor)), tools.Register(tool.Func("destroy", "Destroys.", destroy)))
	if err == nil {
		err = os.MkdirAll(s.data, 0o700)
	}
	o := local.Options{Addr: "127.0.0.1:0", Data: s.data, Agents: cmp.Or(s.agents, "testdata/agents"), Tools: tools, Version: "test", Strict: true, Logger: slog.New(slog.DiscardHandler)}
	private, wrong := netguard.ReadPrivate([]string{"127.0.0.1"}) // receivers of notifications
	o.Private, err = private, errors.Join(err, wrong)
	if s.tokens != "" && err == nil {
		o.TokensFile = filepath.Join(s.data, "tokens")
		err = os.WriteFile(o.TokensFile, []byte(s.tokens), 0o600)
	}
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	server, err := local.Start(ctx, o)
	if err != nil {
		stop()
		return nil, err
	}
	s.url = "http://" + server.Addr()
	return func() error {
		stop()
		return server.Wait()
	}, nil
}

// token is a line of a token file.
func token(name, tenant string, roles ...access.Role) string {
	return access.Grant{Principal: access.Principal{Name: name, Tenant: tenant, Roles: roles}, Hash: access.HashOf(name + "-secret")}.Line() + "\n"
}

// as is the same server, for the holder of a token.
func (d *desk) as(name string) *desk {
	other := *d
	other.token = name + "-secret"
	return &other
}

// at is the same server, for another agent.
func (d *desk) at(agent string) *desk {
	other := *d
	other.agent = agent
	return &other
}

func (d *desk) ledger() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.paid[d.tenant], " ")
}

func (d *desk) api() *client.Client {
	return client.New(d.url, client.WithToken(d.token), client.WithRetries(0))
}

// answered is an answer, read whole.
type answered struct {
	status int
	header http.Header
	text   string
}

// send sends a request, with the header of the protocol's version, and more header.
func (d *desk) send(method, path, body string, header ...string) answered {
	d.Helper()
	req, err := http.NewRequestWithContext(d.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		d.Fatal(err)
	}
	return answered{resp.StatusCode, resp.Header, string(raw)}
}

// rpc calls a method, with params as a template of JSON.
func (d *desk) rpc(method, params string) answered {
	d.Helper()
	return d.send("POST", "/a2a/"+d.agent, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
}

// task is what tests read of an answer.
type task struct {
	ID        string `json:"id"`
	ContextID string `json:"contextId"`
	Status    struct {
		State   string `json:"state"`
		Message struct {
			Parts []struct {
				Text string   `json:"text"`
				Data question `json:"data"`
			} `json:"parts"`
		} `json:"message"`
	} `json:"status"`
	Artifacts []struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"artifacts"`
}

type question struct {
	ID          string          `json:"decisionId"`
	Kind        string          `json:"kind"`
	Agent       string          `json:"agent"`
	Input       json.RawMessage `json:"input"`
	Fingerprint string          `json:"fingerprint"`
}

func (t task) asks() (all []question) {
	for _, p := range t.Status.Message.Parts {
		if p.Data.ID != "" {
			all = append(all, p.Data)
		}
	}
	return all
}

func (t task) output() string {
	if len(t.Artifacts) == 0 {
		return ""
	}
	return t.Artifacts[0].Parts[0].Text
}

// task reads the task of an answer.
func (d *desk) task(a answered) (t task) {
	d.Helper()
	var got struct {
		Result json.RawMessage `json:"result"`
	}
	var wrapped struct {
		Task *task `json:"task"`
	}
	if err := errors.Join(json.Unmarshal([]byte(a.text), &got), json.Unmarshal(got.Result, &wrapped)); err != nil {
		d.Fatalf("%d %s: %v", a.status, a.text, err)
	}
	if wrapped.Task != nil {
		return *wrapped.Task
	}
	if err := json.Unmarshal(got.Result, &t); err != nil || t.ID == "" {
		d.Fatalf("%s: %v", a.text, err)
	}
	return t
}

// refused is the code of an error, and the API's.
func (d *desk) refused(a answered) (code int, of string) {
	d.Helper()
	for line := range strings.Lines(a.text) {
		if data, is := strings.CutPrefix(line, "data: "); is {
			a.text = data
		}
	}
	var got struct {
		Error *struct {
			Code int `json:"code"`
			Data []struct {
				Code string `json:"code"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(a.text), &got); err != nil || got.Error == nil {
		d.Fatalf("%d %s: %v", a.status, a.text, err)
	}
	for _, one := range got.Error.Data {
		of += one.Code
	}
	return got.Error.Code, of
}

// message is the parameters of a message with one part, and more members.
func message(id, part, more string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[` + part + `]` + more + `}}`
}

func says(id, text, more string) string { return message(id, `{"text":"`+text+`"}`, more) }

func answers(id, task, data string) string {
	return message(id, `{"data":`+data+`}`, `,"taskId":"`+task+`"`)
}

// begin begins a task that comes to rest.
func (d *desk) begin(id, text string) task {
	d.Helper()
	return d.task(d.rpc("SendMessage", says(id, text, "")))
}

func compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
