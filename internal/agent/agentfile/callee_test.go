package agentfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func TestEveryMemberOfAnAgentToolIsRead(t *testing.T) {
	d := fromFile(t, "agents.yaml")
	if d.MaxDepth != 2 || d.MaxChildren != 20 {
		t.Errorf("limits %d and %d", d.MaxDepth, d.MaxChildren)
	}
	want := []agent.Tool{
		{Name: "research", Description: "Answers a question.", Agent: &agent.Callee{Name: "researcher", Input: "Answer: {question} (for {reader})"}, ReadOnly: true,
			Parameters: []byte(`{"additionalProperties":false,"properties":{"question":{"type":"string"},"reader":{"type":"string"}},"required":["question","reader"],"type":"object"}`),
			Deadline:   &agent.Deadline{Within: 3_600_000, Outcome: core.DeadlineResult, Result: []byte(`"nothing found"`)}},
		{Name: "review", Agent: &agent.Callee{Name: "reviewer", Input: "{text.title}: {text} {{draft}}", Final: true},
			Parameters: []byte(`{"properties":{"text":{"properties":{"title":{"type":"string"}},"type":"object"}},"required":["text"],"type":"object"}`),
			Preview:    &agent.Preview{Template: "Review {text.title}"}, Deadline: &agent.Deadline{Within: 600_000}},
		{Name: "divide", Agent: &agent.Callee{Name: "planner"},
			Parameters: []byte(`{"properties":{"parts":{"items":{"type":"string"},"type":"array"}},"type":"object"}`)},
	}
	if diff := cmp.Diff(want, d.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	again, err := agent.Decode(d.Encode())
	if err != nil || again.Digest() != d.Digest() {
		t.Errorf("the digest changed on the way through storage: %v", err)
	}
}

// TestWhatAChildIsStartedWith: the words of a file become the message of the run, and the model
// sees why arguments that would not be in it are refused.
func TestWhatAChildIsStartedWith(t *testing.T) {
	rules, err := fromFile(t, "agents.yaml").Rules(nil, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, arguments, want, refused string }{
		{"research", `{"question":"why {x}?","reader":"anna"}`, "Answer: why {x}? (for anna)", ""},
		{"research", `{"question":"why?"}`, "", `missing "reader"`},
		{"research", `{"question":"why?","reader":1}`, "", `argument "reader": expected string, got integer`},
		{"research", `{"question":"why?","reader":"anna","depth":2}`, "", `unknown "depth"`},
		{"review", `{"text":{"title":"T"}}`, `T: {"title":"T"} {draft}`, ""},
		{"review", `{"text":{}}`, `(not given): {} {draft}`, ""},
		{"review", `{"text":{"title":"T","x":1}}`, "", `unknown "x"`},
		{"divide", `{"parts":["a"]}`, `{"parts":["a"]}`, ""},
		{"divide", `{"part":["a"]}`, "", `unknown "part"`},
	} {
		call := core.ToolCall{ID: "c", Name: tt.tool, Arguments: []byte(tt.arguments)}
		err := rules.Check(call)
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s %s: %v, want %s", tt.tool, tt.arguments, err, tt.refused)
			}
			continue
		}
		if child, ok := rules.Child(call); err != nil || !ok || child.Input != tt.want || child.Final != (tt.tool == "review") {
			t.Errorf("%s %s: %+v, %v, want %s", tt.tool, tt.arguments, child, err, tt.want)
		}
	}
	if spec, ok := rules.Tool("research"); !ok || !spec.Agent || !spec.ReadOnly {
		t.Errorf("research is %+v", spec)
	}
	if terms := rules.Terms(); terms.Depth != 2 || terms.Children != 20 {
		t.Errorf("limits %d and %d", terms.Depth, terms.Children)
	}
}

func TestAnOpenSchemaAddsNothingToTheInput(t *testing.T) {
	rules, err := parse(t, head+"tools: [{name: a, agent: b, input: 'do {x}', parameters: {type: object, properties: {x: {type: string}}, additionalProperties: true}}]\n").Rules(nil, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	err = rules.Check(core.ToolCall{Name: "a", Arguments: []byte(`{"x":"1","y":"2"}`)})
	if err == nil || !strings.Contains(err.Error(), `unknown "y"; this tool takes only "x"`) {
		t.Errorf("y would be shown to an approver and not sent: %v", err)
	}
}

func TestMistakesInAnAgentToolAreNamed(t *testing.T) {
	const schema = "parameters: {type: object, properties: {q: {type: string}}}"
	tool := func(of string) string { return head + "tools:\n  - name: a\n    " + of + "\n" }
	tests := []struct{ name, text, want string }{
		{"no input and no parameters", tool("agent: b"), `a.yaml:4: a tool with agent needs input or parameters; write input: "{question}" for one argument, or the JSON Schema`},
		{"a name that is none", tool("{}\n    agent: Über\n    input: '{q}'"), "not YAML"},
		{"an invalid name", tool("agent: Big Name\n    input: '{q}'"), `a.yaml:4: "Big Name" is not a valid agent name; write the name of an agent of this directory`},
		{"no name", tool("agent: ''\n    input: '{q}'"), `a.yaml:4: "" is not a valid agent name`},
		{"a number as name", tool("agent: 7\n    input: '{q}'"), "a.yaml:4: agent must be text, not a number"},
		{"the agent of asks", tool("agent: dormouse-ask\n    input: '{q}'"), `a.yaml:4: "dormouse-ask" is the built-in agent behind POST /v1/asks, which no tool can call`},
		{"input without agent", tool("go: b\n    input: '{q}'"), "a.yaml:5: input is the first message of the agent that a tool calls; name that agent under agent or a2a, or remove it"},
		{"an empty input", tool("agent: b\n    input: ' '"), "a.yaml:5: input is empty; write the first message"},
		{"input that is a mapping", tool("agent: b\n    input: {q}"), "a.yaml:5: input must be text, not a mapping; put it in quotes"},
		{"a brace too many", tool("agent: b\n    input: 'a } b'"), "a.yaml:5: input: a brace belongs to no placeholder"},
		{"a secret", tool("agent: b\n    input: 'use {secret:KEY} for {q}'"), "a.yaml:5: input is a message that models read and the journal keeps, so it cannot hold a secret; remove {secret:KEY}"},
		{"a secret beside parameters", tool("agent: b\n    input: 'use {secret:KEY} for {q}'\n    " + schema), "a.yaml:5: input is a message that models read"},
		{"a part of an argument that is not described", tool("agent: b\n    input: '{q.x}'"), "a.yaml:5: {q.x} is a part of an argument, so the arguments must be described; write parameters"},
		{"an argument that is not there", tool("agent: b\n    input: '{q} {r}'\n    " + schema), `a.yaml:5: the tool has no argument {r}; describe "r" under properties in the parameters, or remove it`},
		{"an argument that is nowhere", tool("agent: b\n    input: 'go'\n    " + schema), `a.yaml:6: the argument "q" is not in input, so the agent never gets it; put {q} into input, or remove it`},
		{"a required argument that is nowhere", tool("agent: b\n    input: 'go'\n    parameters: {type: object, required: [r]}"), `a.yaml:6: the argument "r" is not in input`},
		{"a schema of a result", tool("agent: b\n    input: '{q}'\n    result: {type: object}"), "a.yaml:6: the result of a tool with agent is output (what the agent finishes with, or else its last text) or final (its last text); write one of the two"},
		{"another word for the result", tool("agent: b\n    input: '{q}'\n    result: last"), "a.yaml:6: the result of a tool with agent is output"},
		{"a word for the result of a client tool", tool("client: true\n    result: final"), "a.yaml:5: result: not a JSON Schema"},
		{"a result of a function", tool("go: b\n    result: {type: object}"), "only client tools and tools with agent or a2a have a result"},
		{"two bodies", tool("agent: b\n    input: '{q}'\n    client: true"), "has agent and client; it needs exactly one of go, http, lambda, mcp, agent, a2a, client: true and recorded"},
		{"an agent and answers", tool("agent: b\n    input: '{q}'\n    recorded: [{result: 1}]"), "needs exactly one of go"},
		{"delivery", tool("agent: b\n    input: '{q}'\n    delivery: at_least_once"), `a.yaml:3: a call of tool "a" starts one run of an agent, also after a crash; remove delivery and idempotent`},
		{"idempotent", tool("agent: b\n    input: '{q}'\n    idempotent: false"), "remove delivery and idempotent"},
		{"a result in advance behind an approval", tool("agent: b\n    input: '{q}'\n    deadline: {within: 1h, then: result, result: 1}"), `tool "a" may wait for an approval, and a deadline cannot approve`},
		{"a preview by an agent", head + "tools:\n  - {name: a, agent: b, input: '{q}', read_only: true}\n  - {name: p, go: p, preview: {tool: a, arguments: {q: x}}}\npermissions: {allow: [a]}\n",
			`a.yaml:4: "a" starts a run of an agent and cannot make a preview; name a tool that answers at once`},
		{"a preview of an argument that is not there", tool("agent: b\n    input: '{q}'\n    preview: '{r}'"), "a.yaml:6: a has no argument {r}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentfile.Parse("a.yaml", []byte(tt.text), noFiles)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n%v\ndoes not contain\n%s", err, tt.want)
			}
		})
	}
}

func TestTheLimitsOfCallsAreChecked(t *testing.T) {
	const calls = head + "tools: [{name: a, agent: b, input: go}]\n"
	for _, limit := range []string{"max_depth: 0", "max_depth: 9", "max_depth: two", "max_depth: 1.5", "max_depth:", "max_depth: 99999999999999999999",
		"max_children: 0", "max_children: 501", "max_children: '5'", "max_children: [5]"} {
		_, err := agentfile.Parse("a.yaml", []byte(calls+limit+"\n"), noFiles)
		name, _, _ := strings.Cut(limit, ":")
		want := "a.yaml:3: " + name + " must be a whole number from 1 to " + map[string]string{"max_depth": "8", "max_children": "500"}[name]
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", limit, err, want)
		}
	}
	for _, limit := range []string{"max_depth: 8\nmax_children: 500\n", "max_depth: 1\nmax_children: 1\n", ""} {
		parse(t, calls+limit)
	}
	_, err := agentfile.Parse("a.yaml", []byte(head+"tools: [{name: a, go: b}]\nmax_children: 3\n"), noFiles)
	if want := "a.yaml:3: no tool of the agent calls an agent, so max_children limits nothing; remove it"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestFilesWithoutAgentToolsKeepTheirDigests: what is not said is not in the canonical form. The
// digest is of a program that knew no such tools.
func TestFilesWithoutAgentToolsKeepTheirDigests(t *testing.T) {
	text, err := os.ReadFile("testdata/published/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := parse(t, withTool).Digest(), "sha256:4751dd261ae840cfdb6c0502d540dacd13096aba455d9a272f50eb673c5ef9e9"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	for _, d := range []agent.Definition{parse(t, complete), parse(t, string(text))} {
		for _, word := range []string{`"agent"`, `"max_depth"`, `"max_children"`} {
			if strings.Contains(string(d.Encode()), word) {
				t.Errorf("%s has %s, so its digest is another", d.Name, word)
			}
		}
	}
}
