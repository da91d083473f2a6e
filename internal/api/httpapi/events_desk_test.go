package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// refundsAgent is the agent of the examples. Its model is the test's, in the place of the endpoint.
const refundsAgent = `
name: refunds
description: Refunds orders, and asks a person above $100.
model: {provider: openai, model: example-large, base_url: "https://models.example.com/v1"}
tools:
  - {name: find_order, description: Looks an order up., go: find_order, read_only: true}
  - {name: issue_refund, description: Refunds an amount of an order., go: issue_refund, delivery: at_most_once}
  - {name: ask_customer, description: Asks the customer a question., go: ask_customer}
  - {name: book_pickup, description: Has the carrier pick a parcel up., go: book_pickup, delivery: at_most_once}
  - name: choose_order
    description: Lets the customer choose one of their orders.
    client: true
    result: {type: object, properties: {order: {type: string}}, required: [order]}
  - name: sign
    description: Has the customer sign.
    client: true
    deadline: {within: 1s, then: fail}
permissions:
  allow: [find_order, ask_customer, choose_order, sign, book_pickup, issue_refund]
  ask:
    - {tool: issue_refund, when: {argument: amount, above: 100}, reason: "Refunds above $100 need approval."}
  deny:
    - {tool: issue_refund, when: {argument: amount, above: 1000}, reason: "Refunds above $1,000 are for the office."}
  block:
    - {tool: issue_refund, when: {argument: amount, above: 100000}, reason: This looks like fraud.}
deadlines:
  approval: 24h
hooks: [counting]
`

// forgetfulAgent has a hook and a memory that fail.
const forgetfulAgent = `
name: forgetful
model: {provider: openai, model: example-large, base_url: "https://models.example.com/v1"}
tools: []
hooks: [audit]
memory: notes
notify:
  - {name: ops, on: [done], mail: [ops@example.com]}
`

// waitingAgents each meet another moment while their call waits for anna.
var waitingAgents = map[string]string{
	"reminded":  "{group: office, remind: 50ms}",
	"escalated": "{group: night, escalate: {after: 1s, to: office}}",
	"near":      "{group: office, deadline: 6s}",
	"transfers": "{group: office}",
}

// plannerAgent calls another one, which waits for anna.
const plannerAgent = `
name: planner
model: {provider: scripted, turns: [{given: {step: 1}, calls: [{tool: transfer, arguments: {order: A-2}}]}, {say: Planned.}]}
tools:
  - {name: transfer, agent: transfers, input: "Transfer what order {order} needs."}
permissions: {allow: [transfer]}
`

// draftsAgent calls an agent that runs elsewhere.
const draftsAgent = `
name: drafts
model: {provider: scripted, turns: [{given: {step: 1}, calls: [{tool: review, arguments: {document: D-4}}]}, {say: The contract is reviewed.}]}
tools:
  - {name: review, description: Has a document reviewed., a2a: {url: "https://reviews.example.com"}, input: "Review the document {document}."}
permissions: {allow: [review]}
`

// reviewer is that agent. It is done once its result is wanted.
type reviewer struct{ wanted chan struct{} }

var review = peer.Task{ID: "task-81", Context: "ctx-12", Endpoint: "https://reviews.example.com/a2a"}

func (reviewer) Send(context.Context, engine.PeerRequest) (peer.Report, error) {
	return peer.Report{State: peer.Working, Task: review}, nil
}

func (r reviewer) Look(ctx context.Context, _ engine.PeerRequest) (peer.Report, error) {
	select {
	case <-r.wanted:
	case <-ctx.Done():
		return peer.Report{}, ctx.Err()
	}
	return peer.Report{State: peer.Done, Task: review, Text: "Clause 7 names no deadline."}, nil
}

func (reviewer) Stop(context.Context, engine.PeerRequest) error { return nil }

func waitingAgent(name string) string {
	return "name: " + name + `
model: {provider: scripted, turns: [{given: {step: 1}, calls: [{tool: wire, arguments: {amount: 900}}]}, {say: Transferred.}]}
tools: [{name: wire, description: Transfers money., recorded: [{result: {transfer: T-9}}]}]
permissions: {ask: [{tool: wire, reason: Transfers need approval.}]}
groups: {office: [token:anna], night: [token:ben]}
notify:
  - {name: ops, on: [deadline_near], mail: [ops@example.com]}
approvals:
  default: ` + waitingAgents[name] + "\n"
}

// counter is a whole runtime, as its callers shop, which sends what customers write, and anna, who
// approves, use it.
type counter struct {
	*client.Client
	anna  *client.Client
	model *deskModel

	reviewer reviewer

	mu   sync.Mutex
	told map[string][]wire.Event // what readers of the streams were told, by story
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	agents, data, tokens := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "tokens")
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(agents, "refunds.yaml"), refundsAgent)
	write(filepath.Join(agents, "forgetful.yaml"), forgetfulAgent)
	write(filepath.Join(agents, "planner.yaml"), plannerAgent)
	write(filepath.Join(agents, "drafts.yaml"), draftsAgent)
	for name := range waitingAgents {
		write(filepath.Join(agents, name+".yaml"), waitingAgent(name))
	}
	write(tokens, tokenLine("shop", access.Start, access.Read)+tokenLine("anna", access.Read, access.Decide))
	c := &counter{reviewer: reviewer{make(chan struct{})}, told: map[string][]wire.Event{}, model: &deskModel{failed: map[string]bool{}, ears: map[string]chan core.EventType{}, said: make(chan struct{})}}
	hooks := hook.NewRegistry()
	if err := errors.Join(hooks.Register(counting{}, audit{}), hooks.RegisterMemory("notes", notes{})); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: data, Agents: agents, TokensFile: tokens, Tools: deskTools(t, c.model), Hooks: hooks, Version: "test",
		Logger: slog.New(slog.DiscardHandler), Outside: local.Outside{Models: map[string]program.Provider{agent.ProviderOpenAI: func(agent.Definition) (engine.Model, error) { return c.model, nil }},
			Peers: func(agent.Definition, agent.Tool) (engine.Peer, error) { return c.reviewer, nil }}})
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
	checked := &http.Client{Transport: contract.Transport(t, http.DefaultTransport)}
	c.Client, c.anna = client.New("http://"+server.Addr(), client.WithToken("shop"), client.WithHTTPClient(checked), client.WithRetries(0)), client.New("http://"+server.Addr(), client.WithToken("anna"), client.WithHTTPClient(checked), client.WithRetries(0))
	return c
}

func tokenLine(name string, roles ...access.Role) string {
	return access.Grant{Principal: access.Principal{Name: name, Tenant: access.Tenant, Roles: roles}, Hash: access.HashOf(name)}.Line() + "\n"
}

// deskTools are the tools of the desk. What one says of its progress is heard before it goes on.
func deskTools(t *testing.T, m *deskModel) *tool.Registry {
	t.Helper()
	type order struct {
		Order string `json:"order"`
	}
	type refund struct {
		Order  string  `json:"order"`
		Amount float64 `json:"amount"`
	}
	type question struct {
		Question string `json:"question"`
	}
	tools := tool.NewRegistry(nil)
	err := tools.Register(
		tool.Func("find_order", "Looks an order up.", func(ctx context.Context, c tool.Call, o order) (any, error) {
			if o.Order != "A-2" {
				//nolint:staticcheck // a sentence for the model
				return nil, errors.New("There is no order " + o.Order + ".")
			}
			c.Progress(engine.Progress{Done: 1, Total: 3, Text: "Searching the archive of 2025"})
			select {
			case <-m.ear(c.Run):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return map[string]any{"order": o.Order, "item": "teapot", "total": 180}, nil
		}),
		tool.Func("issue_refund", "Refunds an amount of an order.", func(_ context.Context, c tool.Call, r refund) (any, error) {
			c.State.Add(core.ThreadScope, "refunded", int64(r.Amount))
			return map[string]any{"refund": "R-77", "amount": r.Amount}, nil
		}),
		tool.Func("ask_customer", "Asks the customer a question.", func(_ context.Context, _ tool.Call, q question) (any, error) {
			return nil, tool.Suspend{Action: "answer", Message: q.Question, Mode: core.UseDecisionAsToolResult}
		}),
		tool.Func("book_pickup", "Has the carrier pick a parcel up.", func(_ context.Context, _ tool.Call, _ order) (any, error) {
			return nil, tool.Suspend{Kind: core.KindUnknownOutcome, Action: "report_outcome", Message: "The connection to the carrier broke. Say what happened."}
		}))
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// counting counts the steps of a run, and adds to the result of a refund.
type counting struct{}

func (counting) Name() string { return "counting" }

func (counting) StepStart(context.Context, engine.HookRequest) (core.Effects, error) {
	return core.Effects{State: []core.StateOp{{Scope: core.RunScope, Key: "steps", Op: core.StateAdd, Value: json.RawMessage("1")}}}, nil
}

func (counting) AfterToolExecute(_ context.Context, _ engine.HookRequest, call core.ToolCall, out core.Outcome) (core.Effects, error) {
	if call.Name == "issue_refund" && !out.Failed {
		return core.Effects{Append: "The money arrives within 3 days."}, nil
	}
	return core.Effects{}, nil
}

// audit and notes are out of order.
type (
	audit struct{}
	notes struct{}
)

func (audit) Name() string { return "audit" }

func (audit) RunStart(context.Context, engine.HookRequest) (core.Effects, error) {
	return core.Effects{}, errors.New("the audit log does not answer")
}

func (notes) Recall(context.Context, engine.MemoryRequest) (string, error) {
	return "", errors.New("the notes do not answer")
}

func (notes) Commit(context.Context, engine.MemoryRequest) error { return nil }

// story is what callers do at the counter, and its readers hear.
type story struct {
	*counter
	t       *testing.T
	ctx     context.Context
	name    string
	readers sync.WaitGroup
}

// start begins a run whose events are read to its end, the live ones, too.
func (s *story) start(agent, text string) wire.Run {
	s.t.Helper()
	run, err := s.StartRun(s.ctx, wire.StartRequest{Agent: agent, Input: core.Encode(text)}, "")
	s.must(err)
	s.read(s.name, run.ID)
	return run
}

// read follows a run's events to its end, under a name. The model goes on once what it says was
// heard.
func (s *story) read(name, run string) {
	s.readers.Go(func() {
		for e, err := range s.Events(s.ctx, run, client.EventOptions{Follow: true}) {
			if err != nil {
				if s.ctx.Err() == nil {
					s.t.Errorf("reading %s: %v", run, err)
				}
				return
			}
			s.mu.Lock()
			s.told[name] = append(s.told[name], e)
			s.mu.Unlock()
			if e.Type == string(core.EventTextDelta) || e.Type == string(core.EventReasoningDelta) || e.Type == string(core.EventCallProgress) {
				s.model.hear(s.ctx, run, core.EventType(e.Type))
			}
		}
	})
}

// waits returns the run once it waits, and done once it is done.
func (s *story) waits(run wire.Run) wire.Run { return s.until(run, "waiting") }
func (s *story) done(run wire.Run) wire.Run  { return s.until(run, "done") }

func (s *story) until(run wire.Run, status string) wire.Run {
	s.t.Helper()
	for {
		got, err := s.PollRun(s.ctx, run.ID, 5*time.Second)
		s.must(err)
		if got.Status == status {
			return got
		}
		if got.Status == "done" { // and stays so
			s.t.Fatalf("%s is done and was not %s: %+v", run.ID, status, got)
		}
	}
}

// hears returns once an event of this type and turn is committed. After the end of a turn, nothing
// of it follows.
func (s *story) hears(run wire.Run, of core.EventType, turn int) {
	s.t.Helper()
	for after := ""; ; {
		page, err := s.EventPage(s.ctx, run.ID, client.EventQuery{After: after, Wait: 5 * time.Second, Limit: 100})
		s.must(err)
		for _, e := range page.Items {
			if e.Type == string(of) && e.Turn == turn {
				return
			}
		}
		if page.Done {
			s.t.Fatalf("%s is done without %s in turn %d", run.ID, of, turn)
		}
		after = page.Next
	}
}

// decide answers the first call that waits, as anna.
func (s *story) decide(run wire.Run, decision wire.Decision) {
	s.t.Helper()
	decision.Target = run.Pending[0].Suspension.ID
	_, err := s.anna.Decide(s.ctx, run.ID, decision)
	s.must(err)
}

func (s *story) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
