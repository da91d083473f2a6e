package workload

import (
	"context"
	"fmt"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Agent is the name of the agent, and AgentFile its definition. Its model is the one of
// [Desk.Models].
const (
	Agent     = "bench"
	AgentFile = `name: bench
model: {provider: bedrock, model: scripted}
instructions: Settle the orders one after the other. Look each of them up, and refund what was not delivered.
tools:
  - {name: look, description: Looks an order up., go: look}
  - {name: refund, description: Refunds an order., go: refund}
permissions: {allow: [look], ask: [refund]}
stop: [{max_rounds: unlimited}]
`
)

// Desk is the model and the tools of the agent. The model answers at once; what an answer is
// depends on the step alone.
type Desk struct {
	shape Shape
	text  *Text
	asked func(run string, step int)

	mu   sync.Mutex
	runs map[string]chan struct{}
}

// NewDesk returns a desk. It calls asked whenever the model is asked, with the number of the step
// from 1 on.
func NewDesk(shape Shape, text *Text, asked func(run string, step int)) *Desk {
	return &Desk{shape: shape, text: text, asked: asked, runs: map[string]chan struct{}{}}
}

// Models returns the model as a provider.
func (d *Desk) Models() map[string]program.Provider {
	return map[string]program.Provider{agent.ProviderBedrock: func(agent.Definition) (engine.Model, error) { return model{d}, nil }}
}

// Attention returns a channel that receives when the run soon needs its caller: for each approval,
// and when it is done.
func (d *Desk) Attention(run string) <-chan struct{} { return d.attention(run) }

func (d *Desk) attention(run string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs[run] == nil {
		d.runs[run] = make(chan struct{}, 1)
	}
	return d.runs[run]
}

type model struct{ *Desk }

// Ask implements [engine.Model].
func (d model) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	step := turns(p.Messages) + 1
	d.asked(p.Run, step)
	t := core.Turn{InputTokens: 1000, OutputTokens: 60}
	name := "look"
	switch {
	case step >= d.shape.Steps:
		t.Text = "All orders are settled. Two of them were refunded, and the customers have the receipts."
	case d.shape.Approved(step):
		name = "refund"
		fallthrough
	default:
		id := fmt.Sprintf("call_%d", step)
		t.Text = fmt.Sprintf("Order %d is next. I look at what was delivered and what was paid.", step)
		t.Calls = []core.ToolCall{{ID: id, Name: name, Arguments: core.Encode(order{step})}}
	}
	if step >= d.shape.Steps || d.shape.Approved(step) {
		select {
		case d.attention(p.Run) <- struct{}{}:
		case <-ctx.Done():
			return t, context.Cause(ctx)
		}
	}
	return t, nil
}

// turns counts the answers of the model, looking at the end only: a conversation is a message of
// the user, and a turn and a result for each step.
func turns(messages []core.Message) int { return (len(messages) - 1) / 2 }

type order struct {
	Order int `json:"order"`
}

// Tools returns the tools as functions of a program.
func (d *Desk) Tools() []tool.Function {
	settle := func(_ context.Context, _ tool.Call, o order) (any, error) {
		return d.text.Result(o.Order, d.shape.Result), nil
	}
	return []tool.Function{tool.Func("look", "Looks an order up.", settle), tool.Func("refund", "Refunds an order.", settle)}
}
