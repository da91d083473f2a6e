package replay

import (
	"context"
	"fmt"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/recording"
)

// cast makes one agent of each conversation, and keeps a ledger of what its tools really did.
type cast struct {
	agents map[string]part
	gated  map[string]bool

	mu   sync.Mutex
	keys map[string]int             // executions per idempotency key
	runs map[execution]int          // executions per call
	done map[execution]core.Outcome // what each call came to in the world outside
}

type part struct {
	definition engine.Definition
	agent      engine.Agent
}

// execution is one call, wherever it is run.
type execution struct{ agent, call string }

func agentName(i int) string { return fmt.Sprintf("replay-%d", i) }

func newCast(conversations []recording.Conversation, gate []string) *cast {
	c := &cast{agents: map[string]part{}, gated: map[string]bool{}, keys: map[string]int{}, runs: map[execution]int{}, done: map[execution]core.Outcome{}}
	for _, tool := range gate {
		c.gated[tool] = true
	}
	for i, conversation := range conversations {
		name := agentName(i)
		body := core.Encode(map[string]string{"conversation": conversation.ID})
		c.agents[name] = part{
			definition: engine.Definition{Name: name, Digest: "sha256:" + core.Digest(body), Body: body},
			agent:      engine.Agent{Instructions: conversation.System, Rules: c, Model: conversation.Model(), Tools: c.tools(name, conversation)},
		}
	}
	return c
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

// Tool implements [core.Rules]: every tool the recording names exists, and takes what was recorded.
func (c *cast) Tool(name string) (core.ToolSpec, bool) { return core.ToolSpec{Name: name}, true }

// Check implements [core.Rules].
func (c *cast) Check(core.ToolCall) error { return nil }

// Gate implements [core.Rules].
func (c *cast) Gate(call core.ToolCall, _ core.State) core.Verdict {
	if c.gated[call.Name] {
		return core.Verdict{Effect: core.Ask}
	}
	return core.Verdict{Effect: core.Allow}
}

// Deadline implements [core.Rules].
func (c *cast) Deadline(core.ToolCall, core.Kind) core.Deadline { return core.Deadline{} }

// Terms implements [core.Rules].
func (c *cast) Terms() core.Terms { return core.Terms{} }

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
	return out, err
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
