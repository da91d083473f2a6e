package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// shop is an agent with tools of several kinds, one of them without its function.
func shop(accepts ...string) agent.Definition {
	return agent.Definition{Name: "shop", Accepts: accepts,
		Tools: []agent.Tool{{Name: "refund", Go: "refund"}, {Name: "gone_tool", Go: "gone"}, {Name: "pick", Client: true}},
		Permissions: agent.Permissions{Default: core.Deny,
			Allow: []agent.Rule{{Tool: "ui_*"}, {Tool: "refund"}}, Ask: []agent.Rule{{Tool: "ui_pay"}}, Deny: []agent.Rule{{Tool: "ui_danger*"}}}}
}

var shopFunctions = map[string]core.ToolSpec{"refund": {Name: "refund", Parameters: json.RawMessage(`{"type":"object"}`)}}

func tool(name, parameters string) supplied.Input {
	return supplied.Input{Tools: []supplied.Tool{{Name: name, Parameters: json.RawMessage(parameters)}}}
}

func TestForgedToolsAreRefusedAtTheStart(t *testing.T) {
	d := shop(supplied.Acceptable...)
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{"type":"string"}` + strings.Repeat(`}}`, 60)
	for name, in := range map[string]supplied.Input{
		"the name of a server tool":       tool("refund", ""),
		"of one whose function is gone":   tool("gone_tool", ""),
		"of a client tool of the agent":   tool("pick", ""),
		"in other case":                   tool("Refund", ""),
		"with a separator":                tool("re_fund", ""),
		"with another separator":          tool("gone-tool", ""),
		"with a digit for a letter":       tool("g0ne_t00l", ""),
		"with l for i":                    tool("plck", ""),
		"of the built-in tool":            tool("finish", ""),
		"that looks like the built-in":    tool("F1NISH", ""),
		"in Cyrillic":                     tool("refund\u043e", ""),
		"in full width":                   tool("\uff52\uff45\uff46\uff55\uff4e\uff44", ""),
		"with a zero-width space":         tool("refund\u200b", ""),
		"with a line end":                 tool("refund\n", ""),
		"with a pattern":                  tool("*", ""),
		"without a name":                  tool("", ""),
		"with a name that is too long":    tool(strings.Repeat("a", 65), ""),
		"twice":                           {Tools: []supplied.Tool{{Name: "ui_a"}, {Name: "ui_a"}}},
		"twice, almost":                   {Tools: []supplied.Tool{{Name: "ui_a"}, {Name: "UI-A"}}},
		"a schema that is a text":         tool("ui_a", `"object"`),
		"a schema of a list":              tool("ui_a", `{"type":"array"}`),
		"a schema without a type":         tool("ui_a", `{"properties":{}}`),
		"a type that is none":             tool("ui_a", `{"type":"object","properties":{"a":{"type":"money"}}}`),
		"a reference":                     tool("ui_a", `{"type":"object","properties":{"a":{"$ref":"#"}}}`),
		"a reference to the network":      tool("ui_a", `{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`),
		"a dynamic reference":             tool("ui_a", `{"type":"object","$dynamicRef":"#a"}`),
		"a recursive reference":           tool("ui_a", `{"type":"object","$recursiveRef":"#"}`),
		"references that double":          tool("ui_a", doubling(40)),
		"a pattern that is none":          tool("ui_a", `{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`),
		"a pattern that repeats too much": tool("ui_a", `{"type":"object","properties":{"a":{"type":"string","pattern":"(a{1000}){1000}"}}}`),
	} {
		if err := d.CheckSupplied(in); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.ContainsFunc(err.Error(), func(r rune) bool { return r > '~' || r < ' ' }) {
			t.Errorf("%s: the refusal shows what it quotes as it is: %q", name, err)
		}
	}
	for name, in := range map[string]supplied.Input{
		"no schema": tool("ui_show", ""), "a schema": tool("ui_show", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`),
		"a deep schema": tool("ui_show", deep), "a name that begins alike": tool("refund_status", ""),
	} {
		if err := d.CheckSupplied(in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// doubling is a schema whose check takes twice as long with each of its n definitions.
func doubling(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1))
	}
	return fmt.Sprintf(`{"type":"object","$defs":{%s,"a%d":{}},"allOf":[{"$ref":"#/$defs/a0"}]}`, strings.Join(defs, ","), n)
}

func TestAnAgentAcceptsOnlyWhatItsFileNames(t *testing.T) {
	all := map[string]supplied.Input{supplied.AcceptTools: tool("ui_a", ""), supplied.AcceptContext: {Context: []supplied.Item{{Value: json.RawMessage(`1`)}}},
		supplied.AcceptState: {State: json.RawMessage(`{}`)}}
	for member, in := range all {
		for _, accepts := range [][]string{nil, {member}, supplied.Acceptable} {
			err := shop(accepts...).CheckSupplied(in)
			if refused := err != nil; refused != (accepts == nil) {
				t.Errorf("%s, an agent that accepts %v: %v", member, accepts, err)
			}
			_, accepted := shop(accepts...).With(in)
			if accepted.Empty() != (accepts == nil) {
				t.Errorf("%s, an agent that accepts %v gets %+v", member, accepts, accepted)
			}
		}
	}
}

func TestTheRulesOfTheAgentJudgeSuppliedToolsByName(t *testing.T) {
	in := supplied.Input{Tools: []supplied.Tool{{Name: "ui_show"}, {Name: "ui_pay"}, {Name: "ui_danger_zone"}, {Name: "other"}, {Name: "ui_barred"}}}
	narrow := agent.Permissions{Default: core.Allow, Allow: []agent.Rule{{Tool: "*"}}, Deny: []agent.Rule{{Tool: "ui_barred"}}}
	d, accepted := shop(supplied.AcceptTools).With(in)
	rules, err := d.Rules(shopFunctions, agent.Layers{Narrow: &narrow})
	if err != nil || len(accepted.Tools) != 5 {
		t.Fatal(err, accepted)
	}
	for name, want := range map[string]core.Effect{"ui_show": core.Allow, "ui_pay": core.Ask, "ui_danger_zone": core.Deny, "other": core.Deny, "ui_barred": core.Deny, "refund": core.Allow, "pick": core.Deny} {
		if v := rules.Gate(core.ToolCall{ID: "c", Name: name, Arguments: json.RawMessage(`{}`)}, core.State{}); v.Effect != want {
			t.Errorf("%s: %v, want %v", name, v.Effect, want)
		}
	}
	if v := rules.Gate(core.ToolCall{ID: "c", Name: "ui_pay", Arguments: json.RawMessage(`{}`)}, core.State{}); !strings.HasPrefix(v.Reason, agent.BySender) {
		t.Errorf("an approver reads %q", v.Reason)
	}
	var offered []string
	for _, spec := range rules.Offered() {
		offered = append(offered, spec.Name)
	}
	if got := strings.Join(offered, " "); got != "refund ui_show ui_pay" {
		t.Errorf("the model is offered %s", got)
	}
	if spec, _ := rules.Tool("ui_show"); !spec.Client || !spec.Supplied {
		t.Errorf("%+v", spec)
	}
	if spec, _ := rules.Tool("refund"); spec.Client || spec.Supplied {
		t.Errorf("%+v", spec)
	}
}

// A run may reach a version that its start was not checked against: one that is deployed while a
// message waits for the end of the run before.
func TestALaterVersionKeepsItsToolsAndTakesRights(t *testing.T) {
	in := supplied.Input{Tools: []supplied.Tool{{Name: "refund"}, {Name: "Finish"}, {Name: "ui_show"}}}
	d, accepted := shop(supplied.AcceptTools).With(in)
	if len(accepted.Tools) != 1 || len(d.Tools) != 4 {
		t.Fatalf("%+v, %+v", accepted, d.Tools)
	}
	again := shop(supplied.AcceptTools)
	if again.Digest() != shop(supplied.AcceptTools).Digest() || len(again.Tools) != 3 {
		t.Error("the definition itself was changed")
	}
	now := shop()
	rules, err := d.Rules(shopFunctions, agent.Layers{Deployed: &now})
	if err != nil {
		t.Fatal(err)
	}
	v := rules.Gate(core.ToolCall{ID: "c", Name: "ui_show", Arguments: json.RawMessage(`{}`)}, core.State{})
	if v.Effect != core.Deny || !strings.Contains(v.Reason, "accepts no tools of clients any more") {
		t.Errorf("a tool that the deployed version does not accept: %+v", v)
	}
	for _, spec := range rules.Offered() {
		if spec.Name == "ui_show" {
			t.Error("the model is offered a tool that was withdrawn")
		}
	}
	if v := rules.Gate(core.ToolCall{ID: "c", Name: "refund", Arguments: json.RawMessage(`{}`)}, core.State{}); v.Effect != core.Allow {
		t.Errorf("the agent's own tool: %+v", v)
	}
}
