package scripted_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/scripted"
)

const script = `
model:
  provider: scripted
  turns:
    - given: {user: '(?i)refund (?P<order>[A-Z]-\d+) of (?P<amount>[\d.]+)', no_result: true}
      say: Looking up ${order}.
      calls:
        - {tool: lookup, arguments: {order: "${order}", amount: "${amount}", text: "${amount} EUR", in: ["${amount}"]}}
        - {tool: rates, arguments: {}}
    - given: {tool: lookup, result: 'paid: (?P<paid>\w+)'}
      say: Paid ${paid}.
      calls: [{tool: refund, id: pay, arguments: {paid: "${paid}"}}]
    - given: {user: count, step: 2}
      say: two
    - given: {user: count, step: 1}
      calls: [{tool: count}]
    - given: {tool: refund}
      say: Refunded.
`

func model(t *testing.T) *scripted.Model {
	t.Helper()
	d, err := agentfile.Parse("desk.yaml", []byte(script), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := scripted.New(d.Name, d.Model.Turns)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func user(text string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: core.TextParts(text)}
}

func assistant(calls ...core.ToolCall) core.Message {
	return core.Message{Role: core.RoleAssistant, Calls: calls}
}

func result(tool, text string) core.Message {
	return core.Message{Role: core.RoleTool, Tool: tool, Parts: core.TextParts(text)}
}

func call(id, tool, args string) core.ToolCall {
	return core.ToolCall{ID: id, Name: tool, Arguments: json.RawMessage(args)}
}

func TestAsk(t *testing.T) {
	round := []core.Message{user("Refund A-17 of 120.50"), assistant(call("call_1", "lookup", `{}`), call("call_2", "rates", `{}`))}
	tests := []struct {
		name     string
		messages []core.Message
		want     core.Turn
	}{
		{"groups fill text and arguments, numbers become numbers", round[:1], core.Turn{Text: "Looking up A-17.", Calls: []core.ToolCall{
			call("call_1", "lookup", `{"amount":120.50,"in":[120.50],"order":"A-17","text":"120.50 EUR"}`), call("call_2", "rates", `{}`)}}},
		{"a result of the round, not only its last", append(round[:2:2], result("lookup", "paid: 0042"), result("rates", "1.1")),
			core.Turn{Text: "Paid 0042.", Calls: []core.ToolCall{call("pay", "refund", `{"paid":"0042"}`)}}},
		{"what is no number stays text", append(round[:2:2], result("rates", "x"), result("lookup", "paid: 12x")),
			core.Turn{Text: "Paid 12x.", Calls: []core.ToolCall{call("pay", "refund", `{"paid":"12x"}`)}}},
		{"ids go on counting through the thread", append(round[:2:2], result("lookup", ""), result("rates", ""), user("count")),
			core.Turn{Calls: []core.ToolCall{call("call_3", "count", `{}`)}}},
		{"the step is counted from the last user message", []core.Message{user("x"), assistant(), user("count"), assistant(call("c", "count", `{}`)), result("count", "1")},
			core.Turn{Text: "two"}},
		{"the last round only", []core.Message{user("x"), assistant(call("c", "lookup", `{}`)), result("lookup", "paid: 1"), assistant(call("p", "refund", `{}`)), result("refund", "")},
			core.Turn{Text: "Refunded."}},
	}
	m := model(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // the same prompt, the same turn
				got, err := m.Ask(t.Context(), engine.Prompt{Messages: tt.messages})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("turn (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestNoTurnFits(t *testing.T) {
	_, err := model(t).Ask(t.Context(), engine.Prompt{Messages: []core.Message{user("hello"), assistant(), user("hello again")}})
	if err == nil || !strings.Contains(err.Error(), "script of desk") || !strings.Contains(err.Error(), `"hello again"`) {
		t.Errorf("error %v", err)
	}
}

func TestWhatNoTurnFitsIsSaidInFewWords(t *testing.T) {
	_, err := model(t).Ask(t.Context(), engine.Prompt{Messages: []core.Message{user("so long " + strings.Repeat("Zürich ", 100_000))}})
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "so long Zürich") {
		t.Errorf("an error of %d bytes: %.200v", len(fmt.Sprint(err)), err)
	}
}

func TestResultIsSpentOnceTheUserSpeaks(t *testing.T) {
	messages := []core.Message{user("x"), assistant(call("c", "refund", `{}`)), result("refund", "ok"), user("and now?")}
	if turn, err := model(t).Ask(t.Context(), engine.Prompt{Messages: messages}); err == nil {
		t.Errorf("answered %+v", turn)
	}
}

func TestBadExpressionIsRefused(t *testing.T) {
	if _, err := scripted.New("a", []agent.Turn{{Given: agent.Given{Result: "("}, Say: "x"}}); err == nil {
		t.Error("no error")
	}
}
