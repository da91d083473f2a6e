package examples

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/scripted"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// conversation plays the agent by hand: the script answers, the rules gate, the tools run.
// Approvals are given or refused.
type conversation struct {
	model    *scripted.Model
	rules    *agent.Rules
	tools    *tool.Registry
	approves bool
	asked    int
}

func open(t *testing.T, tools *tool.Registry, approves bool) *conversation {
	t.Helper()
	agents, err := agentfile.Load(example("refund-desk"))
	if err != nil || len(agents) != 1 {
		t.Fatalf("the directory should hold one agent: %d, %v", len(agents), err)
	}
	rules, err := agents[0].Rules(tools.Specs(), agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	model, err := scripted.New(agents[0].Name, agents[0].Model.Turns)
	if err != nil {
		t.Fatal(err)
	}
	return &conversation{model: model, rules: rules, tools: tools, approves: approves}
}

// say returns what the agent answers last.
func (c *conversation) say(t *testing.T, text string) string {
	t.Helper()
	messages := []core.Message{{Role: core.RoleUser, Parts: core.TextParts(text)}}
	for range 10 {
		turn, err := c.model.Ask(t.Context(), engine.Prompt{Messages: messages})
		if err != nil {
			t.Fatal(err)
		}
		if len(turn.Calls) == 0 {
			return turn.Text
		}
		messages = append(messages, core.Message{Role: core.RoleAssistant, Parts: core.TextParts(turn.Text), Calls: turn.Calls})
		for _, call := range turn.Calls {
			messages = append(messages, c.result(t, call))
		}
	}
	t.Fatal("the script does not end")
	return ""
}

func (c *conversation) result(t *testing.T, asked core.ToolCall) core.Message {
	t.Helper()
	if err := c.rules.Check(asked); err != nil {
		t.Fatalf("the script's arguments do not fit: %v", err)
	}
	answer := core.Message{Role: core.RoleTool, CallID: asked.ID, Tool: asked.Name}
	if c.rules.Gate(asked, core.State{}).Effect == core.Ask {
		c.asked++
		if !c.approves {
			answer.Error, answer.Parts = true, core.TextParts("The call was refused.")
			return answer
		}
	}
	out := call(t, c.tools, asked.Name, asked.ID, string(asked.Arguments))
	answer.Error, answer.Parts = out.Failed, core.TextParts(out.Text)
	return answer
}

func TestTheAgent(t *testing.T) {
	tests := []struct {
		name, input string
		approves    bool
		asked, paid int
		answer      string
	}{
		{"above the limit a person is asked, and the refund goes out after a yes", "Refund order A-17, it arrived broken",
			true, 1, 1, "Done. 120 for order A-17 is on its way back to you."},
		{"after a no nothing is refunded", "Refund order A-17, it arrived broken",
			false, 1, 0, "I am sorry, this order was not refunded."},
		{"below the limit nobody is asked", "Please refund B-02", false, 0, 1, "Done. 40 for order B-02 is on its way back to you."},
		{"at the limit nobody is asked", "Please refund C-30", false, 0, 1, "Done. 100 for order C-30 is on its way back to you."},
		{"an unknown order is said to be unknown", "Refund Z-99", false, 0, 0, "I cannot find an order Z-99. Please check the number."},
		{"without an order it asks for one", "My kettle is broken", false, 0, 0, "What is the order number? It looks like A-17."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tools, ledger := desk(t)
			c := open(t, tools, tt.approves)
			if got := c.say(t, tt.input); got != tt.answer {
				t.Errorf("answer %q, want %q", got, tt.answer)
			}
			entries, err := ledger.Entries()
			if err != nil || len(entries) != tt.paid || c.asked != tt.asked {
				t.Errorf("%d refunds (%v), asked %d times; want %d and %d", len(entries), err, c.asked, tt.paid, tt.asked)
			}
		})
	}
}
