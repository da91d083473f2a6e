package agent_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

var placed = regexp.MustCompile(`^[a-z.]+:[0-9]+: .`)

// remote has a model and tools that run elsewhere.
const remote = `model: {provider: bedrock, model: m, region: eu-central-1, temperature: .5, output: {type: object}, cache: off, stream: false}
tools:
  - {name: a, lambda: {function: f, qualifier: $LATEST}, parameters: {type: object}}
  - {name: b, mcp: {server: s, tool: x/y}, parameters: {type: object}}
  - {name: c, a2a: {url: 'http://localhost:1/x?x=1', headers: {A: "{secret:K}"}}, parameters: {type: object}}
servers: {s: {url: 'http://localhost:1/mcp?x=1', headers: {A: "{secret:K}"}}}
results: 1KiB
`

// Whatever a file says, what is wrong with it names its line, and what can be read decides about
// calls.
func FuzzAgentFile(f *testing.F) {
	f.Add(complete, "refund", `{"amount":120.5}`)
	f.Add(everything, "Bash", `{"command":"rm x"}`)
	f.Add(head+"tools: [{name: a, recorded: [{when: {x.0: 1}, result: {y: 1e400}}], parameters: {type: object, required: [x]}, deadline: {within: 1h, then: result, result: 0}}]\n", "a", `{"x":[1]}`)
	f.Add(head+"permissions: {ask: &x [a], deny: *x}\nstop: [{content_match: '('}]\nfinish: {output: {$ref: '#'}}\n", "a", `null`)
	f.Add("---\n--- a\n", "", ``)
	f.Add(remote, "a", `{"x":1}`)
	f.Add("model: {provider: openai, model: 'x', base_url: 'http://[::1]:1/%zz', headers: {a: '{b'}, temperature: 1e-400, request: {a: {b: [.inf]}}}\n", "a", `{}`)
	f.Add("model: {provider: bedrock, model: m, output: {type: object, $ref: '#'}, guardrail: {id: a, version: .5}, max_tokens: -0}\nservers: {a: {url: 'http://x'}}\n", "a", `{}`)
	f.Add("model: {provider: recorded, file: ../x}\nname: 0777\nbudget: {step: -1, run: 1.5}\neffects: [{name: x, tools: ['*'], command: [make], workspace: /}]\n", "a", "{")
	f.Fuzz(func(t *testing.T, text, tool, args string) {
		d, err := agentfile.Parse("file.yaml", []byte(text), noFiles)
		if err != nil {
			if !placed.MatchString(err.Error()) {
				t.Fatalf("an error without a line: %q", err)
			}
			return
		}
		decides(t, d, core.ToolCall{ID: "c", Name: tool, Arguments: rawJSON(args)})
	})
}

// A definition that was stored, by whatever program, is refused or decides, and is written as it
// was read.
func FuzzStoredDefinition(f *testing.F) {
	for _, text := range []string{complete, everything, remote} {
		if d, err := agentfile.Parse("a.yaml", []byte(text), noFiles); err == nil {
			f.Add([]byte(d.Encode()), "refund", `{"amount":120.5}`)
		}
	}
	f.Add([]byte(`{"name":"a","model":{"provider":"x"},"permissions":{"default":"set_result","ask":[{"tool":"**a*","when":[{"argument":""},{"argument":"x","above":"1e999","in":[]}]}]},
		"stop":[{"type":"content_match","pattern":"("}],"tools":[{"name":"a","parameters":{"type":"object","properties":{"x":{"$ref":"#/y"}}}}]}`), "a", `{"x":1}`)
	f.Fuzz(func(t *testing.T, raw []byte, tool, args string) {
		if d, err := agent.Decode(raw); err == nil {
			decides(t, d, core.ToolCall{ID: "c", Name: tool, Arguments: rawJSON(args)})
		}
	})
}

// decides asks everything that can be asked of a definition, and whether it survives storage.
func decides(t *testing.T, d agent.Definition, call core.ToolCall) {
	t.Helper()
	again, err := agent.Decode(d.Encode())
	if err != nil || again.Digest() != d.Digest() {
		t.Fatalf("%s does not survive storage: %v", d.Encode(), err)
	}
	_ = d.Permission(call.Name)
	functions := map[string]core.ToolSpec{}
	for _, name := range d.Needs().Functions {
		functions[name] = core.ToolSpec{Name: name}
	}
	r, err := d.Rules(functions, agent.Layers{})
	if err != nil {
		return // a schema or a rule that an older program let pass
	}
	for _, offered := range append(r.Offered(), core.ToolSpec{Name: call.Name}) {
		call.Name = offered.Name
		_ = r.Check(call)
		_ = r.Gate(call, core.State{})
		_ = r.Deadline(call, core.KindApproval)
	}
	for _, tool := range d.Tools {
		for _, answer := range tool.Recorded {
			_ = answer.Matches(call.Arguments)
			_ = core.Answered(answer.Result)
		}
	}
	for _, effect := range d.Effects {
		_ = effect.Files(call.Arguments)
	}
}

// Permissions of whatever layer never allow what those under them do not.
func FuzzLayers(f *testing.F) {
	f.Add(`{default: allow, ask: [Bash], allow: ["Bash(ls *)"]}`, `deny: ["Bash(rm *)"]`, `{"ask":[{"tool":"*","when":{"argument":"command","regex":"x"}}],"allow":["Bash"]}`,
		`{block: ["pay(amount > 10)"]}`, "Bash", `{"command":"rm x"}`)
	f.Add(`{default: deny, allow: ["pay(amount < 1e3 && to != \"me\")"]}`, `ask: [{tool: pay, grant: false, reason: The policy.}]`, `{"deny":["mcp__*"],"block":[]}`, `{}`, "pay", `{"amount":1.5,"to":"you"}`)
	f.Add(`{ask: [{tool: Bash, mode: use_decision_as_tool_result}]}`, ``, `null`, `{default: deny}`, "finish", `[]`)
	f.Fuzz(func(t *testing.T, own, over, run, deployed, tool, args string) {
		d, err := agentfile.Parse("a.yaml", []byte(shell(own)+"finish: true\n"), noFiles)
		if err != nil || strings.Contains(own, "\n") {
			return
		}
		var layers agent.Layers
		if p, err := agentfile.ParsePolicy("policy.yaml", []byte(over)); err == nil {
			layers.Policy = &p
		} else if !placed.MatchString(err.Error()) {
			t.Fatalf("an error without a line: %q", err)
		}
		if p, err := agentfile.ParseNarrow(rawJSON(run)); err == nil {
			layers.Narrow = &p
		}
		if d, err := agentfile.Parse("a.yaml", []byte(shell(deployed)), noFiles); err == nil {
			layers.Deployed = &d
		}
		checkNarrower(t, d, layers, core.ToolCall{ID: "c", Name: tool, Arguments: rawJSON(args)})
	})
}

// checkNarrower adds the layers one after the other: no verdict becomes less strict, and nothing
// more is offered.
func checkNarrower(t *testing.T, d agent.Definition, layers agent.Layers, call core.ToolCall) {
	t.Helper()
	before := layeredBy(t, d, agent.Layers{})
	for _, more := range []agent.Layers{{Policy: layers.Policy}, {Policy: layers.Policy, Narrow: layers.Narrow}, layers} {
		after := layeredBy(t, d, more)
		was, is := before.Gate(call, core.State{}), after.Gate(call, core.State{})
		if lessStrict(is.Effect, was.Effect) || core.Stricter(was, is).Effect != is.Effect {
			t.Fatalf("%s was %s, and with one layer more it is %s", call.Name, was.Effect, is.Effect)
		}
		if was.Effect == core.Ask && is.Effect == core.Ask && was.Mode != is.Mode {
			t.Fatalf("%s was asked about in mode %s, and with one layer more in mode %s", call.Name, was.Mode, is.Mode)
		}
		if was.Grant == "" && was.Effect == core.Ask && is.Grant != "" {
			t.Fatalf("an approval of %s granted nothing, and with one layer more %q", call.Name, is.Grant)
		}
		if more, less := offered(after), offered(before); !subset(strings.Fields(more), strings.Fields(less)) {
			t.Fatalf("%q was offered, and with one layer more %q", less, more)
		}
		before = after
	}
}

func layeredBy(t *testing.T, d agent.Definition, layers agent.Layers) *agent.Rules {
	t.Helper()
	r, err := d.Rules(shellFunctions, layers)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func subset(some, all []string) bool {
	has := map[string]bool{}
	for _, name := range all {
		has[name] = true
	}
	for _, name := range some {
		if !has[name] {
			return false
		}
	}
	return true
}
