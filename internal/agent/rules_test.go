package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

type rawJSON = json.RawMessage

func gate(t *testing.T, permissions, tool, args string) core.Verdict {
	t.Helper()
	tools := "tools:\n"
	for _, name := range []string{"pay", "bash", "read", "other", "git_push"} {
		tools += "  - {name: " + name + ", go: " + name + "}\n"
	}
	d := parse(t, head+tools+"permissions: "+permissions+"\n")
	r, err := d.Rules(nil, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Gate(core.ToolCall{ID: "c1", Name: tool, Arguments: rawJSON(args)}, core.State{})
}

func TestGate(t *testing.T) {
	const above = "{ask: [{tool: pay, when: {argument: amount, above: 100}}], allow: [pay]}"
	tests := []struct {
		name, permissions, tool, args string
		want                          core.Effect
	}{
		{"C213 no rule: ask", "{}", "bash", `{}`, core.Ask},
		{"the default counts where no rule matches", "{default: allow, ask: [other]}", "bash", `{}`, core.Allow},
		{"default deny", "{default: deny}", "bash", `{}`, core.Deny},
		{"C206 a conditional deny beats an allow", "{allow: [bash], deny: [{tool: bash, when: {argument: command, equals: rm}}]}", "bash", `{"command":"rm"}`, core.Deny},
		{"C206 and leaves other calls allowed", "{allow: [bash], deny: [{tool: bash, when: {argument: command, equals: rm}}]}", "bash", `{"command":"ls"}`, core.Allow},
		{"C210 deny by pattern", "{deny: ['mcp__dangerous__*']}", "mcp__dangerous__execute", `{}`, core.Deny},
		{"C210 and ask for the rest", "{deny: ['mcp__dangerous__*']}", "mcp__safe__read", `{}`, core.Ask},
		{"deny by pattern beats allow by name", "{deny: ['*'], allow: [bash]}", "bash", `{}`, core.Deny},
		{"C214 a narrow ask beats a broad allow", "{ask: [git_push], allow: ['git_*']}", "git_push", `{}`, core.Ask},
		{"C214 an ask with a condition beats the allow without", above, "pay", `{"amount":100.01}`, core.Ask},
		{"C214 below the limit the allow counts", above, "pay", `{"amount":100}`, core.Allow},
		{"a narrow allow beats a broad ask", "{ask: ['*'], allow: [read]}", "read", `{}`, core.Allow},
		{"a narrower pattern beats a broader one", "{ask: ['*'], allow: ['read_*']}", "read_file", `{}`, core.Allow},
		{"equally specific: ask wins", "{ask: [read], allow: [read]}", "read", `{}`, core.Ask},
		{"the same pattern written differently: ask wins", "{ask: ['*'], allow: ['**']}", "read", `{}`, core.Ask},
		{"overlapping patterns: ask wins", "{ask: ['*_file'], allow: ['read_*']}", "read_file", `{}`, core.Ask},
		{"a conditional pattern is not lifted by a name", "{ask: [{tool: '*', when: {argument: amount, above: 100}}], allow: [pay]}", "pay", `{"amount":101}`, core.Ask},
		{"an allow with a condition beats the ask without", "{ask: [pay], allow: [{tool: pay, when: {argument: amount, below: 10}}]}", "pay", `{"amount":9}`, core.Allow},
		{"and not where the condition fails", "{ask: [pay], allow: [{tool: pay, when: {argument: amount, below: 10}}]}", "pay", `{"amount":10}`, core.Ask},
		{"one of two asks is not lifted", "{ask: ['*', pay], allow: ['pa*']}", "pay", `{}`, core.Ask},
		{"missing argument: the ask holds", above, "pay", `{}`, core.Ask},
		{"wrong type: the ask holds", above, "pay", `{"amount":"5"}`, core.Ask},
		{"null: the ask holds", above, "pay", `{"amount":null}`, core.Ask},
		{"arguments that are no object: the ask holds", above, "pay", `"5"`, core.Ask},
		{"an absurd exponent: the ask holds", above, "pay", `{"amount":-1e999999999}`, core.Ask},
		{"missing argument: the deny holds", "{default: allow, deny: [{tool: pay, when: {argument: to, equals: me}}]}", "pay", `{}`, core.Deny},
		{"missing argument: the allow does not hold", "{default: deny, allow: [{tool: pay, when: {argument: to, equals: me}}]}", "pay", `{}`, core.Deny},
		{"dotted path", "{default: allow, deny: [{tool: pay, when: {argument: order.total, above: 5}}]}", "pay", `{"order":{"total":6}}`, core.Deny},
		{"digits beyond float64 count", "{default: allow, deny: [{tool: pay, when: {argument: n, above: 9007199254740992}}]}", "pay", `{"n":9007199254740993}`, core.Deny},
		{"numbers are equal by value", "{default: deny, allow: [{tool: pay, when: {argument: n, equals: 100}}]}", "pay", `{"n":1.0e2}`, core.Allow},
		{"between two bounds", "{default: deny, allow: [{tool: pay, when: {argument: n, above: 1, below: 3}}]}", "pay", `{"n":2}`, core.Allow},
		{"outside two bounds", "{default: deny, allow: [{tool: pay, when: {argument: n, above: 1, below: 3}}]}", "pay", `{"n":3}`, core.Deny},
		{"a truth value", "{default: deny, allow: [{tool: pay, when: {argument: dry, equals: true}}]}", "pay", `{"dry":true}`, core.Allow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := gate(t, tt.permissions, tt.tool, tt.args); got.Effect != tt.want {
				t.Errorf("got %v, want %v", got.Effect, tt.want)
			}
		})
	}
}

func TestVerdictCarriesReasonAndMode(t *testing.T) {
	v := gate(t, "{ask: [{tool: '*', reason: broad}, {tool: pay, reason: narrow, mode: use_decision_as_tool_result}]}", "pay", `{}`)
	if v.Reason != "narrow" || v.Mode != core.UseDecisionAsToolResult {
		t.Errorf("verdict %+v", v)
	}
	if v := gate(t, "{deny: [{tool: pay, reason: Not today.}]}", "pay", `{}`); v.Reason != "Not today." {
		t.Errorf("verdict %+v", v)
	}
	if v := gate(t, "{deny: [pay]}", "pay", `{}`); v.Reason != "The permissions in force do not allow pay." {
		t.Errorf("verdict %+v", v)
	}
}

func rulesOf(t *testing.T, text string, functions map[string]core.ToolSpec, deployed *agent.Definition) *agent.Rules {
	t.Helper()
	r, err := parse(t, text).Rules(functions, agent.Layers{Deployed: deployed})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDeployCanTakeRightsAndNeverAdd(t *testing.T) {
	const pinned = head + "tools: [{name: pay, go: pay}, {name: send, go: send}]\npermissions: {allow: [pay], deny: [send]}\n"
	functions := map[string]core.ToolSpec{"pay": {Name: "pay"}, "send": {Name: "send"}}
	tests := []struct {
		name, deployed string
		pay, send      core.Effect
	}{
		{"C114 denied since", "{deny: [pay]}", core.Deny, core.Deny},
		{"denied since by default", "{default: deny}", core.Deny, core.Deny},
		{"C211 allowed since", "{allow: ['*']}", core.Allow, core.Deny},
		{"asked since: the pinned version counts", "{ask: ['*']}", core.Allow, core.Deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			deployed := parse(t, head+"permissions: "+tt.deployed+"\n")
			r := rulesOf(t, pinned, functions, &deployed)
			pay, send := r.Gate(core.ToolCall{Name: "pay"}, core.State{}), r.Gate(core.ToolCall{Name: "send"}, core.State{})
			if pay.Effect != tt.pay || send.Effect != tt.send {
				t.Errorf("pay %v, send %v", pay.Effect, send.Effect)
			}
		})
	}
}

func TestOfferedTools(t *testing.T) {
	const text = head + "tools: [{name: b, go: b}, {name: gone, go: gone}, {name: a, go: a}, {name: never, go: a}, {name: rarely, go: a}]\n" +
		"permissions: {deny: ['nev*', {tool: rarely, when: {argument: x, equals: 1}}]}\n"
	functions := map[string]core.ToolSpec{"a": {Name: "a", Description: "from the function"}, "b": {Name: "b"}}
	r := rulesOf(t, text, functions, nil)
	var names []string
	for _, s := range r.Offered() {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "b a rarely" {
		t.Errorf("C218 offered %q, want those that exist and are not denied outright, in their order", got)
	}
	if _, ok := r.Tool("gone"); ok {
		t.Error("HR14 a tool whose function is gone must not be found")
	}
	if spec, ok := r.Tool("a"); !ok || spec.Description != "from the function" {
		t.Errorf("tool a: %+v, %v", spec, ok)
	}
	if got := parse(t, text).Missing(functions); len(got) != 1 || got[0] != "gone" {
		t.Errorf("missing %v", got)
	}
}

func TestClientToolIsAllowedByDefault(t *testing.T) {
	r := rulesOf(t, head+"tools: [{name: locate, client: true}]\n", nil, nil)
	if v := r.Gate(core.ToolCall{Name: "locate", Arguments: rawJSON(`{}`)}, core.State{}); v.Effect != core.Allow {
		t.Errorf("verdict %+v", v)
	}
	if spec, _ := r.Tool("locate"); !spec.Client {
		t.Errorf("spec %+v", spec)
	}
	r = rulesOf(t, head+"tools: [{name: locate, client: true}]\npermissions: {default: deny}\n", nil, nil)
	if v := r.Gate(core.ToolCall{Name: "locate"}, core.State{}); v.Effect != core.Deny {
		t.Errorf("default deny: verdict %+v", v)
	}
}

func TestDelivery(t *testing.T) {
	tests := []struct {
		name, yaml string
		function   core.Delivery
		want       core.Delivery
	}{
		{"nothing said", "", core.DeliveryDefault, core.DeliveryDefault},
		{"at least once says nothing of calls that were asked for", "delivery: at_least_once", core.DeliveryDefault, core.DeliveryDefault},
		{"idempotent holds even then", "idempotent: true", core.DeliveryDefault, core.AtLeastOnce},
		{"at most once", "delivery: at_most_once", core.DeliveryDefault, core.AtMostOnce},
		{"the function says idempotent", "", core.AtLeastOnce, core.AtLeastOnce},
		{"at most once of the function wins", "idempotent: true", core.AtMostOnce, core.AtMostOnce},
		{"at most once of the definition wins", "delivery: at_most_once", core.AtLeastOnce, core.AtMostOnce},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			functions := map[string]core.ToolSpec{"f": {Name: "f", Delivery: tt.function}}
			r := rulesOf(t, head+"tools:\n  - name: a\n    go: f\n    "+tt.yaml+"\n", functions, nil)
			if spec, _ := r.Tool("a"); spec.Delivery != tt.want || spec.Name != "a" {
				t.Errorf("got %+v, want %v", spec, tt.want)
			}
		})
	}
}

func TestPermissionInOneWord(t *testing.T) {
	d := parse(t, complete)
	for tool, want := range map[string]string{"lookup": "allow", "refund": "conditional", "drop_all": "deny", "unknown": "deny", "locate": "allow"} {
		if got := d.Permission(tool); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
}

func TestCheckNamesTheArgumentAndWhatWasExpected(t *testing.T) {
	r := rulesOf(t, head+`tools:
  - name: book
    client: true
    parameters:
      type: object
      additionalProperties: false
      required: [who, seats]
      properties:
        who: {type: string, minLength: 1}
        seats: {type: integer, maximum: 9}
        class: {enum: [economy, business]}
        legs: {type: array, items: {type: object, properties: {day: {type: [string, "null"]}}}}
        properties: {type: string}
        "first name": {type: string}
  - {name: free, client: true}
`, nil, nil)
	tests := []struct {
		name, tool, args string
		want             string // empty: fits
	}{
		{"fits", "book", `{"who":"a","seats":2,"class":"economy","legs":[{"day":null}]}`, ""},
		{"digits beyond float64 fit", "free", `{"n":123456789012345678901234567890}`, ""},
		{"missing", "book", `{"seats":2}`, `missing "who"`},
		{"two missing", "book", `{}`, `missing "who", "seats"`},
		{"wrong type", "book", `{"who":5,"seats":2}`, `argument "who": expected string, got integer`},
		{"null", "book", `{"who":null,"seats":2}`, `argument "who": expected string, got null`},
		{"not whole", "book", `{"who":"a","seats":2.5}`, `argument "seats": expected integer, got number`},
		{"nested", "book", `{"who":"a","seats":2,"legs":[{"day":true}]}`, `argument "legs[].day": expected`},
		{"an argument named like a keyword", "book", `{"who":"a","seats":2,"properties":1}`, `argument "properties": expected string, got integer`},
		{"an argument with a space", "book", `{"who":"a","seats":2,"first name":1}`, `argument "first name": expected string, got integer`},
		{"unknown argument", "book", `{"who":"a","seats":2,"sea ts":3}`, `unknown "sea ts"`},
		{"same argument in other letters", "book", `{"who":"a","seats":2,"SEATS":3}`, `"seats" and "SEATS" differ only by case`},
		{"not in the list", "book", `{"who":"a","seats":2,"class":"x"}`, `argument "class": enum`},
		{"given twice", "free", `{"a":1,"b":{"c":1,"c":2}}`, `"c" is given twice`},
		{"the same name in two objects", "free", `{"a":{"c":1},"b":[{"c":2},{"c":3}],"c":"c"}`, ""},
		{"text that is not JSON", "free", `"not json"`, "expected a JSON object, got a string"},
		{"a list", "free", `[1]`, "expected a JSON object, got an array"},
		{"an absurd number", "free", `{"n":1e999}`, "expected a JSON object"},
		{"nothing at all", "free", ``, ""},
		{"unknown tool", "nope", `{}`, `there is no tool "nope"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := r.Check(core.ToolCall{Name: tt.tool, Arguments: rawJSON(tt.args)})
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %s", err, tt.want)
			case err != nil && strings.Contains(err.Error(), "reflect"):
				t.Errorf("error shows internals: %v", err)
			}
		})
	}
	if err := r.Check(core.ToolCall{Name: "book", Arguments: rawJSON(`{"who":"a","seats":1,"class":"` + strings.Repeat("é", 1000) + `"}`)}); err == nil || len(err.Error()) > 700 {
		t.Errorf("a long value makes a long error: %d bytes", len(err.Error()))
	}
}
