package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// cast makes one agent of each conversation, and keeps a ledger of what its tools really did.
type cast struct {
	o      Options
	agents map[string]part
	gated  map[string]bool

	mu   sync.Mutex
	keys map[string]int              // executions per idempotency key
	runs map[execution]int           // executions per call
	done map[execution]core.Outcome  // what each call came to in the world outside
	with map[execution]core.ToolCall // with which arguments it ran last
	// what a body or a model was given that it must not be given
	bent []string
}

type part struct {
	definition engine.Definition
	agent      engine.Agent
}

// execution is one call, wherever it is run.
type execution struct{ agent, call string }

func agentName(i int) string { return fmt.Sprintf("replay-%d", i) }

func newCast(o Options) *cast {
	c := &cast{o: o, agents: map[string]part{}, gated: map[string]bool{}, keys: map[string]int{}, runs: map[execution]int{},
		done: map[execution]core.Outcome{}, with: map[execution]core.ToolCall{}}
	for _, tool := range o.Gate {
		c.gated[tool] = true
	}
	for i, conversation := range o.Conversations {
		name := agentName(i)
		body := core.Encode(map[string]string{"conversation": conversation.ID})
		c.agents[name] = part{
			definition: engine.Definition{Name: name, Digest: "sha256:" + core.Digest(body), Body: body},
			agent: engine.Agent{Instructions: conversation.System, Rules: rules{c, name}, Model: checked{c, conversation.Model()},
				Tools: c.tools(name, conversation)},
		}
	}
	return c
}

// through has an agent ask another model, which is told of its tools.
func (c *cast) through(name string, conversation recording.Conversation, m engine.Model) {
	p := c.agents[name]
	p.agent.Model = checked{c, m}
	for _, tool := range toolsOf(conversation) {
		p.agent.Offered = append(p.agent.Offered, core.ToolSpec{Name: tool, Description: "A recorded tool.", Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	c.agents[name] = p
}

// Load implements [engine.Agents].
func (c *cast) Load(_ context.Context, pin engine.Pin) (engine.Agent, error) {
	p, ok := c.agents[pin.Name]
	if !ok {
		return engine.Agent{}, engine.ErrNotFound
	}
	return p.agent, nil
}

// Current implements frontend.Catalog.
func (c *cast) Current(_ context.Context, tenant, name string) (engine.Definition, error) {
	p, ok := c.agents[name]
	if !ok {
		return engine.Definition{}, engine.ErrNotFound
	}
	p.definition.Tenant = tenant
	return p.definition, nil
}

// Deployed implements frontend.Catalog; nobody asks.
func (c *cast) Deployed(context.Context, string) ([]engine.Definition, error) { return nil, nil }

// rules are those of one conversation's agent.
type rules struct {
	*cast
	agent string
}

// Tool implements [core.Rules]: every tool the recording names exists, and takes what was recorded.
func (r rules) Tool(name string) (core.ToolSpec, bool) { return core.ToolSpec{Name: name}, true }

// Check implements [core.Rules].
func (r rules) Check(core.ToolCall) error { return nil }

// Gate implements [core.Rules].
func (r rules) Gate(call core.ToolCall, _ core.State) core.Verdict {
	if r.gated[call.Name] {
		return core.Verdict{Effect: core.Ask, Mode: r.o.fate(r.agent, call.ID).mode}
	}
	return core.Verdict{Effect: core.Allow}
}

// Deadline implements [core.Rules].
func (r rules) Deadline(call core.ToolCall, kind core.Kind) core.Deadline {
	if kind != core.KindApproval {
		return core.Deadline{}
	}
	return r.o.deadline(r.o.fate(r.agent, call.ID))
}

// Times implements [core.Rules].
func (r rules) Times(*vote.Policy, int, int64) core.Times { return core.Times{} }

// Terms implements [core.Rules].
func (r rules) Terms() core.Terms { return core.Terms{Parallel: r.o.Parallel} }

func (rules) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }

// checked is a model that looks at what it is sent (I-7).
type checked struct {
	cast  *cast
	model engine.Model
}

func (m checked) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	if why := sim.Malformed(p.Messages, false); why != "" {
		m.cast.mu.Lock()
		m.cast.bent = append(m.cast.bent, fmt.Sprintf("%s: the model was sent a transcript that is not well formed: %s", p.Run, why))
		m.cast.mu.Unlock()
	}
	return m.model.Ask(ctx, p)
}

func (c *cast) tools(agent string, conversation recording.Conversation) map[string]engine.Tool {
	recorded := conversation.Tool()
	tools := map[string]engine.Tool{}
	for _, m := range conversation.Messages {
		for _, call := range m.Calls {
			tools[call.Name] = counted{c, agent, recorded}
		}
	}
	return tools
}

// counted is a recorded tool whose every execution is written down.
type counted struct {
	cast  *cast
	agent string
	tool  engine.Tool
}

func (t counted) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	out, err := t.tool.Run(ctx, req)
	t.cast.mu.Lock()
	defer t.cast.mu.Unlock()
	t.cast.keys[req.Key]++
	what := execution{t.agent, req.Call.ID}
	t.cast.runs[what]++
	t.cast.done[what] = out
	if before, again := t.cast.with[what]; again && canonical(before.Arguments) != canonical(req.Call.Arguments) {
		t.cast.bent = append(t.cast.bent, fmt.Sprintf("%s: the body of %s ran with %s and with %s", req.Run, req.Call.ID, before.Arguments, req.Call.Arguments))
	}
	t.cast.with[what] = req.Call
	if wants := t.cast.gated[req.Call.Name] && t.cast.o.fate(t.agent, req.Call.ID).mode == core.PassDecisionToTool; wants != (req.Resume != nil) {
		t.cast.bent = append(t.cast.bent, fmt.Sprintf("%s: the body of %s was given the decision: %v, and should be: %v", req.Run, req.Call.ID, req.Resume != nil, wants))
	}
	return out, err
}

// ran says how often a call's body ran, and with what it did last.
func (c *cast) ran(agent, call string) (times int, with core.ToolCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what := execution{agent, call}
	return c.runs[what], c.with[what]
}

// happened says what a call came to outside, if its body ran.
func (c *cast) happened(agent, call string) (core.Outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, ok := c.done[execution{agent, call}]
	return out, ok
}

// settle adds the ledger to the report.
func (c *cast) settle(r *Report) {
	r.Executions = map[int]int{}
	for _, n := range c.keys {
		r.Executions[n]++
	}
	for _, what := range c.bent {
		r.deviation("%s", what)
	}
}

// twice are the calls of gated tools that ran more than once.
func (c *cast) twice(agent string, messages []core.Message) (calls []string) {
	for _, m := range messages {
		for _, call := range m.Calls {
			if n := c.runs[execution{agent, call.ID}]; c.gated[call.Name] && n > 1 {
				calls = append(calls, fmt.Sprintf("%s %s ran %d times", call.Name, call.ID, n))
			}
		}
	}
	return calls
}

// Newest implements [engine.Agents].
func (c *cast) Newest(_ context.Context, _, name string) (string, error) {
	return c.agents[name].definition.Digest, nil
}
