package agent_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func policy(t *testing.T, text string) *agent.Permissions {
	t.Helper()
	p, err := agentfile.ParsePolicy("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func narrow(t *testing.T, text string) *agent.Permissions {
	t.Helper()
	p, err := agentfile.ParseNarrow(rawJSON(text))
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func layered(t *testing.T, text string, layers agent.Layers) *agent.Rules {
	t.Helper()
	r, err := parse(t, text).Rules(shellFunctions, layers)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLayersCanOnlyTakeAway(t *testing.T) {
	deployed := func(permissions string) *agent.Definition {
		d := parse(t, head+"permissions: "+permissions+"\n")
		return &d
	}
	tests := []struct {
		name, own string
		layers    agent.Layers
		want      core.Effect
	}{
		{"C211 the policy denies, the run allows", "{allow: [Bash]}", agent.Layers{Policy: policy(t, "deny: [Bash]"), Narrow: narrow(t, `{"allow":["Bash"]}`)}, core.Deny},
		{"C211 the definition denies, the run allows", "{deny: [Bash]}", agent.Layers{Narrow: narrow(t, `{"allow":["Bash"]}`)}, core.Deny},
		{"C211 the definition asks, the run allows", "{}", agent.Layers{Narrow: narrow(t, `{"allow":["Bash"]}`)}, core.Ask},
		{"an allow of the run lifts nothing of its own", "{allow: [Bash]}", agent.Layers{Narrow: narrow(t, `{"ask":["*"],"allow":["Bash"]}`)}, core.Ask},
		{"a layer without a rule that matches says nothing", "{allow: [Bash]}", agent.Layers{Policy: policy(t, "deny: [pay]"), Narrow: narrow(t, `{}`)}, core.Allow},
		{"the policy asks", "{allow: [Bash]}", agent.Layers{Policy: policy(t, `ask: ["Bash(rm *)"]`)}, core.Ask},
		{"a narrow allow of the definition does not lift an ask of the policy", "{allow: [Bash]}", agent.Layers{Policy: policy(t, "ask: ['*']")}, core.Ask},
		{"the policy blocks what the definition denies", "{deny: [Bash]}", agent.Layers{Policy: policy(t, "block: [Bash]")}, core.Block},
		{"the definition blocks what the policy denies", "{block: [Bash]}", agent.Layers{Policy: policy(t, "deny: [Bash]")}, core.Block},
		{"the run blocks", "{allow: [Bash]}", agent.Layers{Narrow: narrow(t, `{"block":[{"tool":"Bash","when":{"argument":"command","glob":"rm *"}}]}`)}, core.Block},
		{"the deployed version blocks", "{allow: [Bash]}", agent.Layers{Deployed: deployed("{block: [Bash]}")}, core.Block},
		{"the deployed version denies on a condition", "{allow: [Bash]}", agent.Layers{Deployed: deployed(`{deny: ["Bash(rm *)"]}`)}, core.Deny},
		{"the deployed version asks: nothing", "{allow: [Bash]}", agent.Layers{Deployed: deployed("{ask: ['*']}")}, core.Allow},
		{"one asks and another denies", "{allow: [Bash]}", agent.Layers{Policy: policy(t, "ask: [Bash]"), Narrow: narrow(t, `{"deny":["Bash"]}`)}, core.Deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := layered(t, shell(tt.own), tt.layers).Gate(command("rm x"), core.State{}); got.Effect != tt.want {
				t.Errorf("got %v, want %v", got.Effect, tt.want)
			}
		})
	}
}

func TestSeveralThatAskAreOneQuestion(t *testing.T) {
	own := shell("{ask: [{tool: Bash, mode: use_decision_as_tool_result}]}")
	alone := layered(t, own, agent.Layers{}).Gate(command("x"), core.State{})
	v := layered(t, own, agent.Layers{Policy: policy(t, "ask: [{tool: Bash, reason: The policy.}]"), Narrow: narrow(t, `{"ask":["Bash"]}`)}).Gate(command("x"), core.State{})
	if v.Reason != "The policy." || v.Mode != core.UseDecisionAsToolResult {
		t.Errorf("verdict %+v", v)
	}
	if v.Grant == "" || v.Grant == alone.Grant {
		t.Errorf("grants %q and %q: what the definition's rule was granted would lift the policy's", v.Grant, alone.Grant)
	}
	if v := layered(t, own, agent.Layers{Policy: policy(t, "ask: [{tool: Bash, grant: false}]")}).Gate(command("x"), core.State{}); v.Grant != "" {
		t.Errorf("the policy grants nothing, and the grant is %q", v.Grant)
	}
}

func TestOneQuestionShowsWhyEachAsks(t *testing.T) {
	layers := agent.Layers{Policy: policy(t, "ask: [{tool: Bash, reason: The policy.}]"), Narrow: narrow(t, `{"ask":[{"tool":"Bash","reason":"The run."}]}`)}
	for own, want := range map[string]string{
		"{ask: [{tool: Bash, reason: The agent.}]}":  "The agent. The policy. The run.",
		"{ask: [{tool: Bash, reason: The policy.}]}": "The policy. The run.",
		"{allow: [Bash]}": "The policy. The run.",
	} {
		if v := layered(t, shell(own), layers).Gate(command("x"), core.State{}); v.Reason != want {
			t.Errorf("%s: %q, want %q", own, v.Reason, want)
		}
	}
}

// An agent may say that no answer in time is a yes. Who else asks about a call wants an answer.
func TestNoAgentApprovesBySilenceWhatOthersAskAbout(t *testing.T) {
	const silent = "groups: {office: [token:anna]}\napprovals: {default: {group: office, deadline: {within: 1h, then: approve}}}\n"
	for name, tt := range map[string]struct {
		own    string
		layers agent.Layers
		want   bool
	}{
		"the agent alone":                       {"{ask: [Bash]}", agent.Layers{}, true},
		"the policy asks, too":                  {"{ask: [Bash]}", agent.Layers{Policy: policy(t, "ask: [Bash]")}, false},
		"the policy asks about what is allowed": {"{allow: [Bash]}", agent.Layers{Policy: policy(t, "ask: [Bash]")}, false},
		"the run asks, too":                     {"{ask: [Bash]}", agent.Layers{Narrow: narrow(t, `{"ask":["Bash"]}`)}, false},
		"the policy asks about another call":    {"{ask: [Bash]}", agent.Layers{Policy: policy(t, "ask: [pay]")}, true},
	} {
		v := layered(t, shell(tt.own)+silent, tt.layers).Gate(command("x"), core.State{})
		if got := v.Policy.Silence(); got != tt.want || v.Policy.Deadline.Within != 3_600_000 || len(v.Policy.Stages) != 1 {
			t.Errorf("%s: silence approves: %v; %+v", name, got, v.Policy)
		}
	}
}

func TestC218WhatCanNeverRunIsNotOffered(t *testing.T) {
	deployed := parse(t, head+"permissions: {default: deny}\n")
	all := "Bash pay mcp__safe__read mcp__dangerous__execute"
	tests := []struct {
		name, own string
		layers    agent.Layers
		want      string
	}{
		{"C218 denied by pattern", "{deny: ['mcp__*']}", agent.Layers{}, "Bash pay"},
		{"C218 denied on a condition only", `{deny: ["Bash(rm *)"]}`, agent.Layers{}, all},
		{"C218 blocked on a condition only", "{}", agent.Layers{Policy: policy(t, `block: ["Bash(rm *)"]`)}, all},
		{"C218 blocked by the policy", "{allow: ['*']}", agent.Layers{Policy: policy(t, "block: [pay, Bash]")}, "mcp__safe__read mcp__dangerous__execute"},
		{"C218 denied by the run", "{allow: ['*']}", agent.Layers{Narrow: narrow(t, `{"deny":["mcp__*"]}`)}, "Bash pay"},
		{"C218 denied by the default of the deployed version", "{allow: ['*']}", agent.Layers{Deployed: &deployed}, ""},
		{"C218 asked for by the policy", "{}", agent.Layers{Policy: policy(t, "ask: ['*']")}, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := offered(layered(t, shell(tt.own), tt.layers)); got != tt.want {
				t.Errorf("offered %q, want %q", got, tt.want)
			}
		})
	}
}

func offered(r *agent.Rules) string {
	var names []string
	for _, s := range r.Offered() {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

func TestPolicyIsRefusedWithFileAndLine(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "policy.yaml:1: the file is empty"},
		{"a list", "- a\n", "policy.yaml:1: a policy is a list"},
		{"allow", "deny: [a]\nallow: [b]\n", `policy.yaml:2: unknown field "allow" in a policy; it takes groups, approvals, block, deny, ask`},
		{"default", "default: deny\n", `policy.yaml:1: unknown field "default"`},
		{"bad expression", "deny:\n  - a\n  - 'b(x =~ \"(\")'\n", "policy.yaml:3: not a regular expression"},
		{"mode", "ask:\n  - {tool: a, mode: replay_tool_call}\n", "policy.yaml:2: mode belongs to the rules of an agent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := agentfile.ParsePolicy("policy.yaml", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestPermissionsOfARunReadLikeThoseOfAFile(t *testing.T) {
	got := narrow(t, `{"block":["Bash(rm *)"],"deny":[{"tool":"pay","reason":"No \ud83d\ude00","when":[{"argument":"n","above":1.50},{"argument":"t","in":["a",2,true]}]}],"ask":[{"tool":"a","grant":false}]}`)
	want := policy(t, "block: ['Bash(rm *)']\ndeny: [{tool: pay, reason: No 😀, when: [{argument: n, above: 1.50}, {argument: t, in: [a, 2, true]}]}]\nask: [{tool: a, grant: false}]\n")
	if a, b := string(core.Encode(got)), string(core.Encode(want)); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	for _, text := range []string{"", "null", "{}"} {
		if p, err := agentfile.ParseNarrow(rawJSON(text)); err != nil || string(core.Encode(p)) != `{"default":"ask"}` {
			t.Errorf("%q: %s, %v", text, core.Encode(p), err)
		}
	}
}

func TestPermissionsOfARunAreRefusedInASentence(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"too long", `{"deny":["` + strings.Repeat("a", 1024) + `"]}`, "permissions are 1037 bytes; a run's permissions may be at most 1024 bytes"},
		{"not JSON", `{`, "permissions are not valid JSON"},
		{"more than one value", `{} {}`, "permissions are not valid JSON"},
		{"no object", `["Bash"]`, "permissions is a list"},
		{"unknown member", `{"denied":["Bash"]}`, `unknown field "denied" in permissions; it takes block, deny, ask, allow`},
		{"unknown member of a rule", `{"deny":[{"tol":"Bash"}]}`, `unknown field "tol"`},
		{"a default", `{"default":"deny"}`, `unknown field "default"`},
		{"twice", `{"deny":[],"deny":["Bash"]}`, `"deny" is given twice`},
		{"bad expression", `{"deny":[{"tool":"Bash","when":{"argument":"x","regex":"("}}]}`, "not a regular expression"},
		{"a list that is none", `{"deny":"Bash"}`, "deny must be a list, not text"},
		{"a rule that is none", `{"deny":[null]}`, "a rule is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentfile.ParseNarrow(rawJSON(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), ":0:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// guess makes permissions out of few tools, arguments and values, so that rules often meet.
type guess struct{ *rand.Rand }

func (g guess) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g guess) rules() []agent.Rule {
	var rules []agent.Rule
	for range g.IntN(3) {
		r := agent.Rule{Tool: g.pick("*", "p*", "pay", "send", "finish"), Mode: core.ResumeMode(g.IntN(3)), NoGrant: g.IntN(4) == 0}
		for range g.IntN(3) {
			r.When = append(r.When, g.condition())
		}
		rules = append(rules, r)
	}
	return rules
}

func (g guess) condition() agent.Condition {
	c := agent.Condition{Argument: g.pick("", "x", "y", "y.0", "z")}
	switch g.IntN(5) {
	case 0:
		c.AtLeast = "1"
	case 1:
		c.Glob = "a*"
	case 2:
		c.NotRegex = g.pick("^a", "(")
	case 3:
		c.NotEquals = rawJSON(g.pick("1", `"a"`))
	case 4:
		there := g.IntN(2) == 0
		c.Exists = &there
	}
	return c
}

func (g guess) permissions() agent.Permissions {
	return agent.Permissions{Default: core.Effect(g.IntN(3)), Block: g.rules(), Deny: g.rules(), Ask: g.rules(), Allow: g.rules()}
}

func (g guess) layer() *agent.Permissions {
	p := g.permissions()
	return &p
}

func (g guess) definition() agent.Definition {
	d := agent.Definition{Name: "a", Tools: []agent.Tool{{Name: "pay", Go: "f"}, {Name: "send", Client: true}}, Permissions: g.permissions()}
	if g.IntN(2) == 0 {
		d.Finish = &agent.Finish{}
	}
	return d
}

func (g guess) call() core.ToolCall {
	return core.ToolCall{ID: "c", Name: g.pick("pay", "send", "finish", "gone"),
		Arguments: rawJSON(g.pick(`{}`, `{"x":1}`, `{"x":"ab"}`, `{"x":"b","y":"c"}`, `{"y":["a",2]}`, `{"x":null,"z":0.5}`, `[]`))}
}

// strictness is the order of the effects that permissions know.
var strictness = []core.Effect{core.Allow, core.Ask, core.Deny, core.Block}

func lessStrict(a, b core.Effect) bool {
	return slices.Index(strictness, a) < slices.Index(strictness, b)
}

// TestNothingAddedEverWidens adds a layer or a deny to what there was: no verdict becomes less
// strict, what was not offered is not offered, and whatever never runs is not offered.
func TestNothingAddedEverWidens(t *testing.T) {
	for seed := range uint64(500) {
		g := guess{rand.New(rand.NewPCG(seed, 1))}
		d, layers := g.definition(), agent.Layers{}
		before := ready(t, d, layers)
		for range 4 {
			what := g.add(&d, &layers)
			after := ready(t, d, layers)
			for range 12 {
				call := g.call()
				was, is := before.Gate(call, core.State{}), after.Gate(call, core.State{})
				if lessStrict(is.Effect, was.Effect) {
					t.Fatalf("seed %d: after %s, %s(%s) was %v and is %v", seed, what, call.Name, call.Arguments, was.Effect, is.Effect)
				}
				if (is.Effect != core.Ask) && is.Grant != "" {
					t.Fatalf("seed %d: %v has a grant", seed, is.Effect)
				}
			}
			for name := range strings.FieldsSeq(offered(after)) {
				if !slices.Contains(strings.Fields(offered(before)), name) {
					t.Fatalf("seed %d: after %s, %s is offered", seed, what, name)
				}
			}
			before = after
		}
	}
}

// add adds one thing that can only take away, and says what.
func (g guess) add(d *agent.Definition, layers *agent.Layers) string {
	switch g.IntN(5) {
	case 0:
		if layers.Policy == nil {
			layers.Policy = g.layer()
			return "a policy"
		}
	case 1:
		if layers.Narrow == nil {
			layers.Narrow = g.layer()
			return "permissions of the run"
		}
	case 2:
		if layers.Deployed == nil {
			deployed := g.definition()
			layers.Deployed = &deployed
			return "a deployed version"
		}
	case 3:
		d.Permissions.Block = append(slices.Clone(d.Permissions.Block), g.rules()...)
		return "blocks"
	}
	d.Permissions.Deny = append(slices.Clone(d.Permissions.Deny), g.rules()...)
	return "denies"
}

func ready(t *testing.T, d agent.Definition, layers agent.Layers) *agent.Rules {
	t.Helper()
	r, err := d.Rules(map[string]core.ToolSpec{"f": {}}, layers)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func FuzzParseNarrow(f *testing.F) {
	f.Add(`{"deny":["Bash(rm *)",{"tool":"a","when":[{"argument":"x","in":[1,"a"]}]}]}`)
	f.Add(`{"ask":[{"tool":"*","grant":false}],"allow":["b"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := agentfile.ParseNarrow(rawJSON(text))
		if err != nil {
			if err.Error() == "" || strings.HasPrefix(err.Error(), ":") {
				t.Fatalf("no sentence: %q", err)
			}
			return
		}
		d := agent.Definition{Name: "a", Permissions: agent.Permissions{Default: core.Deny}}
		if v := ready(t, d, agent.Layers{Narrow: &p}).Gate(core.ToolCall{Name: "b", Arguments: rawJSON(`{}`)}, core.State{}); lessStrict(v.Effect, core.Deny) {
			t.Fatalf("the run widened: %v", v.Effect)
		}
	})
}
