package agentfile_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

const decided = `model: {provider: scripted, turns: [{say: hi}]}
tools: [{name: pay, go: pay}, {name: wire, go: wire}]
groups:
  team: [token:anna, token:eve]
  finance: [token:ben, {person: cy, is: [token:cy, "link:cy@example.com"]}, token:dora]
approvals:
  default: {group: team}
  two: {group: finance, need: 2, deny: majority}
permissions:
  ask:
    - pay
    - {tool: wire, approval: two}
    - {tool: wire, approval: two, when: {argument: amount, above: 10}}
`

func TestPoliciesReachTheRules(t *testing.T) {
	d, err := agentfile.Parse("a.yaml", []byte(decided), noFiles)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := d.Rules(map[string]core.ToolSpec{"pay": {}, "wire": {}}, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	if p := rules.Terms().Policy; p == nil || p.Name != "default" || p.Counts() {
		t.Errorf("the default is %+v", p)
	}
	if v := rules.Gate(core.ToolCall{Name: "pay", Arguments: []byte(`{}`)}, core.State{}); v.Policy == nil || v.Policy.Name != "default" {
		t.Errorf("pay: %+v", v.Policy)
	}
	v := rules.Gate(core.ToolCall{Name: "wire", Arguments: []byte(`{"amount":20}`)}, core.State{})
	if p := v.Policy; p == nil || p.Name != "two" || len(p.Stages) != 1 || p.Stages[0].Need != 2 || p.Stages[0].Deny() != 2 || !p.Counts() {
		t.Errorf("wire: %+v", v.Policy)
	}
}

// A rule that names no policy demands the default one, also beside a rule that names another.
func TestTheDefaultPolicyIsDemandedBesideAnother(t *testing.T) {
	for name, c := range map[string]struct{ old, new string }{
		"a rule without a policy": {"{tool: wire, approval: two, when", "{tool: wire, when"},
		"the operator's rule":     {"", ""},
	} {
		d, err := agentfile.Parse("a.yaml", []byte(strings.Replace(decided, c.old, c.new, 1)), noFiles)
		if err != nil {
			t.Fatal(err)
		}
		layers := agent.Layers{}
		if c.old == "" {
			over, err := agentfile.ParsePolicy("policy.yaml", []byte("ask: [wire]"))
			if err != nil {
				t.Fatal(err)
			}
			layers.Policy = &over
		}
		rules, err := d.Rules(map[string]core.ToolSpec{"pay": {}, "wire": {}}, layers)
		if err != nil {
			t.Fatal(err)
		}
		v := rules.Gate(core.ToolCall{Name: "wire", Arguments: []byte(`{"amount":20}`)}, core.State{})
		if p := v.Policy; p == nil || p.Name != "two+default" || len(p.Stages) != 2 || p.Stages[1].Group.Name != "team" {
			t.Errorf("%s: %+v", name, v.Policy)
		}
	}
}

func TestPoliciesThatMeanNothing(t *testing.T) {
	for name, c := range map[string]struct{ old, new, why string }{
		"no such group":            {"{group: team}", "{group: tema}", `there is no group "tema"`},
		"no such policy":           {"approval: two}", "approval: three}", `there is no policy "three"`},
		"more than there are":      {"need: 2", "need: 4", "has 3 people, and 4 must approve"},
		"nobody":                   {"need: 2", "need: 0", "need is 1 to 16 people"},
		"a majority of any number": {"token:dora]", "role:admin]", "list them by name"},
		"twice in a group":         {"token:dora]", "token:ben]", "twice"},
		"twice as two people":      {"token:eve]", "token:cy]", "two different people"},
		"a person who is many":     {"[token:cy, ", "[token:c*, ", "one person"},
		"a role there is not":      {"token:eve]", "role:boss]", `there is no role "boss"`},
		"a claim without a value":  {"token:eve]", "'claim:groups']", "write claim:NAME=VALUE"},
		"a name":                   {"token:eve]", "eve]", `"eve" is not a caller; write token:NAME, link:NAME, hook:NAME/WHO, intake or role:ROLE, with * for any text in a name; a group can also list claim:NAME=VALUE`},
		"a claim in two parts":     {"token:eve]", "'claim:a b=c']", "write claim:NAME=VALUE"},
		"an empty group":           {"[token:anna, token:eve]", "[]", "has no members"},
		"one result of two people": {"{tool: wire, approval: two}", "{tool: wire, approval: two, mode: use_decision_as_tool_result}", "can't give one result"},
	} {
		text := strings.Replace(decided, c.old, c.new, 1)
		if text == decided {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := agentfile.Parse("a.yaml", []byte(text), noFiles); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := agentfile.ParseNarrow([]byte(`{"ask":[{"tool":"pay","approval":"two"}]}`)); err == nil || !strings.Contains(err.Error(), "belongs to the rules of an agent") {
		t.Errorf("a run's own rule: %v", err)
	}
}
