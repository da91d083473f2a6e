package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

const everything = head + `
tools:
  - {name: pay, go: pay, deadline: {within: 90m, then: cancel}}
  - {name: locate, client: true, deadline: {within: 30s, then: result, result: {place: null}}}
  - {name: look, go: look, read_only: true}
permissions: {allow: [look]}
executor: parallel
while_waiting: continue
yield_when: newer_run_waits
stop:
  - max_rounds: 5
  - timeout: 10m
  - {type: timeout, seconds: 0}
  - stop_on_tool: finish
  - {type: content_match, pattern: '^DONE'}
  - loop_detection: 3
  - {type: token_budget, max_total: 1000}
  - consecutive_errors: 2
budget: {step: 4, run: 40}
deadlines:
  approval: 24h
  client: {within: 1m30s}
  input: {within: 1h, then: result, result: [1.50]}
finish: {output: {type: object, properties: {total: {$ref: '#/$defs/money'}}, required: [total], $defs: {money: {type: number, minimum: 0}}}}
hooks: [audit, tone]
memory: notes
effects:
  - {name: index, tools: [pay, 'lo*'], go: reindex}
  - {name: format, tools: [look], command: [gofmt, -w], workspace: work, paths: files.0}
  - {name: tidy, tools: [pay], detect: [format, lint], workspace: work}
`

func TestParseReadsHowARunIsWorkedOn(t *testing.T) {
	d := parse(t, everything)
	got := agent.Definition{Parallel: d.Parallel, Continue: d.Continue, YieldWhen: d.YieldWhen, Stop: d.Stop, Budget: d.Budget, Deadlines: d.Deadlines,
		Hooks: d.Hooks, Memory: d.Memory, Effects: d.Effects}
	want := agent.Definition{
		Parallel: true, Continue: true, YieldWhen: agent.YieldToNewer,
		Stop: []stoprule.Spec{{Type: "max_rounds", Rounds: 5}, {Type: "timeout", Seconds: 600}, {Type: "timeout"},
			{Type: "stop_on_tool", ToolName: "finish"}, {Type: "content_match", Pattern: "^DONE"}, {Type: "loop_detection", Window: 3},
			{Type: "token_budget", MaxTotal: 1000}, {Type: "consecutive_errors", Max: 2}},
		Budget: agent.Budget{Step: 4, Run: 40},
		Deadlines: map[core.Kind]agent.Deadline{
			core.KindApproval: {Within: 86_400_000}, core.KindClient: {Within: 90_000},
			core.KindInput: {Within: 3_600_000, Outcome: core.DeadlineResult, Result: rawJSON(`[1.50]`)},
		},
		Hooks: []string{"audit", "tone"}, Memory: "notes",
		Effects: []agent.Effect{{Name: "index", Tools: []string{"pay", "lo*"}, Go: "reindex"},
			{Name: "format", Tools: []string{"look"}, Command: []string{"gofmt", "-w"}, Workspace: "work", Paths: "files.0"},
			{Name: "tidy", Tools: []string{"pay"}, Detect: []string{agent.DetectFormat, agent.DetectLint}, Workspace: "work"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
	again, err := agent.Decode(d.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, again); diff != "" || again.Digest() != d.Digest() {
		t.Errorf("after Encode and Decode (-want +got):\n%s", diff)
	}
}

func TestTermsOfARun(t *testing.T) {
	terms := rulesOf(t, everything, nil, nil).Terms()
	if !terms.Parallel || !terms.Continue || terms.StepCalls != 4 || terms.RunCalls != 40 || !terms.Memory || len(terms.Stops) != 8 {
		t.Errorf("terms %+v", terms)
	}
	if code, detail, stop := terms.Stops[3].Stop(core.Progress{Turn: core.Turn{Calls: []core.ToolCall{{Name: "finish"}}}}); !stop || code != "stop_on_tool" || detail != "finish" {
		t.Errorf("the fourth rule: %s, %s, %v", code, detail, stop)
	}
	if plain := rulesOf(t, head, nil, nil).Terms(); plain.Parallel || plain.Continue || plain.Memory || len(plain.Stops) != 1 || plain.StepCalls != 0 {
		t.Errorf("terms of an agent that says nothing: %+v", plain)
	}
}

func TestC153AStoredPatternThatDoesNotCompileStopsTheRun(t *testing.T) {
	d, err := agent.Decode([]byte(`{"name":"a","model":{"provider":"scripted"},"permissions":{"default":"ask"},"stop":[{"type":"content_match","pattern":"("}]}`))
	if err != nil {
		t.Fatal(err)
	}
	stops := ready(t, d, agent.Layers{}).Terms().Stops
	if code, _, stop := stops[0].Stop(core.Progress{}); !stop || code != "content_match_invalid_regex" {
		t.Errorf("C153: %s, %v", code, stop)
	}
}

func TestDeadlineOfAToolCountsForAllItsWaits(t *testing.T) {
	r := rulesOf(t, everything, map[string]core.ToolSpec{"pay": {}, "look": {}}, nil)
	cancelled := core.Deadline{Within: 5_400_000, Outcome: core.DeadlineCancel}
	tests := []struct {
		name, tool string
		kind       core.Kind
		want       core.Deadline
	}{
		{"by kind: approval", "look", core.KindApproval, core.Deadline{Within: 86_400_000}},
		{"by kind: client", "look", core.KindClient, core.Deadline{Within: 90_000}},
		{"by kind: input", "look", core.KindInput, core.Deadline{Within: 3_600_000, Outcome: core.DeadlineResult, Result: rawJSON(`[1.50]`)}},
		{"by kind: a tool that is not there", "gone", core.KindApproval, core.Deadline{Within: 86_400_000}},
		{"no deadline for this kind", "look", core.KindUnknownOutcome, core.Deadline{}},
		{"an interrupt has none", "", core.KindInterrupt, core.Deadline{}},
		{"the tool's: approval", "pay", core.KindApproval, cancelled},
		{"the tool's: input", "pay", core.KindInput, cancelled},
		{"the tool's: unknown outcome", "pay", core.KindUnknownOutcome, cancelled},
		{"a result set in advance", "locate", core.KindClient, core.Deadline{Within: 30_000, Outcome: core.DeadlineResult, Result: rawJSON(`{"place":null}`)}},
		{"approves nothing", "locate", core.KindApproval, core.Deadline{Within: 30_000}},
		{"and says nothing of what happened", "locate", core.KindUnknownOutcome, core.Deadline{Within: 30_000}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, r.Deadline(core.ToolCall{Name: tt.tool}, tt.kind)); diff != "" {
				t.Errorf("deadline (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadOnlyIsSaidByTheToolOrItsFunction(t *testing.T) {
	const text = head + "tools: [{name: a, go: f}, {name: b, go: g}, {name: c, go: f, read_only: true}]\n"
	r := rulesOf(t, text, map[string]core.ToolSpec{"f": {}, "g": {ReadOnly: true}}, nil)
	for tool, want := range map[string]bool{"a": false, "b": true, "c": true} {
		if spec, _ := r.Tool(tool); spec.ReadOnly != want {
			t.Errorf("%s: read only %v, want %v", tool, spec.ReadOnly, want)
		}
	}
}

func TestFinishIsAToolWithASchema(t *testing.T) {
	r := rulesOf(t, everything, nil, nil)
	spec, ok := r.Tool(core.FinishTool)
	if !ok || !spec.Finish || spec.Client || spec.Description == "" {
		t.Fatalf("finish: %+v, %v", spec, ok)
	}
	tests := []struct{ name, args, want string }{
		{"an output that fits", `{"output":{"total":1.5}}`, ""},
		{"with a response state", `{"output":{"total":0},"response_state":"awaiting_input"}`, ""},
		{"no output", `{"response_state":"done"}`, `missing "output"`},
		{"part of the output is missing", `{"output":{}}`, `argument "output": missing "total"`},
		{"a definition that is referred to counts", `{"output":{"total":-1}}`, `argument "output.total"`},
		{"another response state", `{"output":{"total":1},"response_state":"blocked"}`, `argument "response_state"`},
		{"another argument", `{"output":{"total":1},"x":1}`, `unknown "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := r.Check(core.ToolCall{Name: core.FinishTool, Arguments: rawJSON(tt.args)})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("any output without a schema", func(t *testing.T) {
		r := rulesOf(t, head+"finish: true\n", nil, nil)
		for _, args := range []string{`{"output":"x"}`, `{"output":null}`, `{"output":[{}]}`} {
			if err := r.Check(core.ToolCall{Name: core.FinishTool, Arguments: rawJSON(args)}); err != nil {
				t.Errorf("%s: %v", args, err)
			}
		}
	})
	t.Run("not there unless it is asked for", func(t *testing.T) {
		for _, text := range []string{head, head + "finish: false\n"} {
			if _, ok := rulesOf(t, text, nil, nil).Tool(core.FinishTool); ok {
				t.Error("finish is there")
			}
		}
	})
}

func TestFinishIsAllowedUnlessARuleForbidsIt(t *testing.T) {
	deployed := parse(t, head+"permissions: {deny: [finish]}\n")
	none := parse(t, head+"permissions: {default: deny}\n")
	tests := []struct {
		name, own string
		layers    agent.Layers
		want      core.Effect
		offered   bool
	}{
		{"under the default", "{}", agent.Layers{}, core.Allow, true},
		{"under default deny", "{default: deny}", agent.Layers{}, core.Allow, true},
		{"under an ask for everything", "{ask: ['*']}", agent.Layers{Policy: policy(t, "ask: ['*']")}, core.Allow, true},
		{"under a deployed default deny", "{}", agent.Layers{Deployed: &none}, core.Allow, true},
		{"denied by the definition", "{deny: ['*']}", agent.Layers{}, core.Deny, false},
		{"denied by the policy", "{}", agent.Layers{Policy: policy(t, "deny: ['fin*']")}, core.Deny, false},
		{"denied by the deployed version", "{}", agent.Layers{Deployed: &deployed}, core.Deny, false},
		{"blocked by the run", "{}", agent.Layers{Narrow: narrow(t, `{"block":["finish"]}`)}, core.Block, false},
		{"denied on a condition", "{}", agent.Layers{Policy: policy(t, `deny: ['finish(output.total > 5)']`)}, core.Deny, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := layered(t, head+"finish: true\npermissions: "+tt.own+"\n", tt.layers)
			if v := r.Gate(core.ToolCall{Name: "finish", Arguments: rawJSON(`{"output":{"total":6}}`)}, core.State{}); v.Effect != tt.want {
				t.Errorf("got %v, want %v", v.Effect, tt.want)
			}
			if got := slices.Contains(strings.Fields(offered(r)), "finish"); got != tt.offered {
				t.Errorf("offered %v, want %v", got, tt.offered)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	d := parse(t, everything)
	want := agent.Needs{Functions: []string{"pay", "look"}, Hooks: []string{"audit", "tone"}, Memories: []string{"notes"}, Effects: []string{"reindex"}}
	if diff := cmp.Diff(want, d.Needs()); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
	if missing := d.Missing(map[string]core.ToolSpec{"pay": {}}); !slices.Equal(missing, []string{"look"}) {
		t.Errorf("missing %v", missing)
	}
}

func TestEffectKnowsItsToolsAndFiles(t *testing.T) {
	e := agent.Effect{Tools: []string{"write_*", "edit"}, Paths: "files"}
	for tool, want := range map[string]bool{"write_file": true, "edit": true, "editor": false, "read": false} {
		if e.Follows(tool) != want {
			t.Errorf("follows %s: %v", tool, !want)
		}
	}
	for args, want := range map[string][]string{`{"files":"a"}`: {"a"}, `{"files":["a",1,"","b"]}`: {"a", "b"}, `{"files":5}`: nil, `{}`: nil, `"x"`: nil} {
		if got := e.Files(rawJSON(args)); !slices.Equal(got, want) {
			t.Errorf("files of %s: %v, want %v", args, got, want)
		}
	}
	if got := (agent.Effect{}).Files(rawJSON(`{"a":"b"}`)); got != nil {
		t.Errorf("files without paths: %v", got)
	}
}

func TestParseRefusesTermsThatMeanNothing(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"executor", "executor: fast\n", `executor cannot be "fast"; it is one of sequential, parallel`},
		{"while_waiting", "while_waiting: go\n", `while_waiting cannot be "go"; it is one of wait, continue`},
		{"yield_when", "yield_when: busy\n", `yield_when cannot be "busy"; it is one of never, newer_run_waits`},
		{"stop rule that is none", "stop: [5]\n", "a stop rule is a number"},
		{"unknown stop rule", "stop: [{max_steps: 5}]\n", "a stop rule needs type and its value, or one of consecutive_errors"},
		{"two short stop rules in one", "stop: [{max_rounds: 5, timeout: 1m}]\n", "a stop rule needs type and its value"},
		{"unknown type", "stop: [{type: max_steps, rounds: 5}]\n", `type cannot be "max_steps"`},
		{"stop rule without its value", "stop: [{type: max_rounds}]\n", "the stop rule max_rounds needs rounds"},
		{"stop rule with another's value", "stop: [{type: max_rounds, rounds: 1, window: 2}]\n", `unknown field "window" in a stop rule; it takes type, rounds`},
		{"negative rounds", "stop: [{max_rounds: -1}]\n", "max_rounds must be a whole number from 0"},
		{"rounds without a limit, misspelt", "stop: [{max_rounds: none}]\n", "max_rounds must be a whole number from 0, or unlimited"},
		{"another rule without a limit", "stop: [{token_budget: unlimited}]\n", "token_budget must be a whole number from 0"},
		{"fraction of a round", "stop: [{type: max_rounds, rounds: 1.5}]\n", "rounds must be a whole number from 0"},
		{"C153 bad expression", "stop: [{content_match: '('}]\n", "not a regular expression"},
		{"a window longer than a run remembers", "stop: [{loop_detection: 17}]\n", "looks at most 16 rounds back"},
		{"timeout without unit", "stop: [{timeout: 600}]\n", "timeout must be a duration such as"},
		{"timeout below a second", "stop: [{timeout: 1500ms}]\n", "timeout is in whole seconds"},
		{"tool that is a number", "stop: [{stop_on_tool: 5}]\n", "stop_on_tool must be text"},
		{"negative budget", "budget: {run: -1}\n", "run must be a whole number from 0"},
		{"budget as a number", "budget: 5\n", "budget is a number"},
		{"deadline for an unknown kind", "deadlines: {child: 1h}\n", `unknown field "child" in deadlines; it takes approval, client, input`},
		{"deadline without within", "deadlines: {client: {then: fail}}\n", "a deadline needs within"},
		{"deadline of nothing", "deadlines: {client: 0s}\n", "client must be more than 0"},
		{"deadline below a millisecond", "deadlines: {client: 5us}\n", "client is in whole milliseconds"},
		{"unknown outcome", "deadlines: {client: {within: 1h, then: approve}}\n", `then cannot be "approve"`},
		{"result without then", "deadlines: {client: {within: 1h, result: 5}}\n", "result and then: result go together"},
		{"then without result", "deadlines: {client: {within: 1h, then: result}}\n", "result and then: result go together"},
		{"result of an approval", "deadlines: {approval: {within: 1h, then: result, result: true}}\n", "a deadline cannot approve a call"},
		{"result of a tool that is asked for by default", "tools: [{name: a, go: a, deadline: {within: 1h, then: result, result: 1}}]\n", `tool "a" may wait for an approval`},
		{"result of a tool that is asked for by a rule", "tools: [{name: a, go: a, deadline: {within: 1h, then: result, result: 1}}]\npermissions: {allow: [a], ask: ['a(x)']}\n", `tool "a" may wait for an approval`},
		{"finish as text", "finish: yes please\n", "finish must be true, false, or a mapping"},
		{"finish with another member", "finish: {schema: {}}\n", `unknown field "schema" in finish; it takes output`},
		{"bad output schema", "finish: {output: {type: strin}}\n", `output: "strin" is not a JSON Schema type`},
		{"output schema that is none", "finish: {output: 5}\n", "output: not a JSON Schema"},
		{"output schema that refers to itself", "finish: {output: {type: array, items: {$ref: '#'}}}\n", `$ref "#" is not supported here`},
		{"a tool named finish", "tools: [{name: finish, go: a}]\n", `"finish" is the built-in tool`},
		{"finish asked for", "finish: true\npermissions: {ask: [finish]}\n", "finish is always allowed"},
		{"finish denied without being there", "permissions: {ask: [finish]}\n", `the agent has no tool "finish"`},
		{"hook twice", "hooks: [a, a]\n", `hooks: "a" is empty or a duplicate`},
		{"hook that is a number", "hooks: [5]\n", "hooks must be text"},
		{"memory without a name", "memory: ''\n", "memory is empty"},
		{"effect without a name", "effects: [{tools: ['*'], go: a}]\n", "an effect needs a name"},
		{"effect without tools", "effects: [{name: e, go: a}]\n", "needs tools"},
		{"effect of a tool that is not there", "effects: [{name: e, tools: [b], go: a}]\n", `the agent has no tool "b"`},
		{"effect of a bad pattern", "effects: [{name: e, tools: ['b c'], go: a}]\n", `"b c" is not a tool name or pattern`},
		{"effect that does nothing", "effects: [{name: e, tools: ['*']}]\n", "exactly one of go, command and detect"},
		{"effect that does two things", "effects: [{name: e, tools: ['*'], go: a, command: [b]}]\n", "exactly one of go, command and detect"},
		{"effect that has a command and looks for one", "effects: [{name: e, tools: ['*'], command: [b], detect: [lint], workspace: w}]\n", "exactly one of go, command and detect"},
		{"effect that looks for something else", "effects: [{name: e, tools: ['*'], detect: [test], workspace: w}]\n", `detect: "test" is not known; it is format or lint`},
		{"effect that looks for one kind twice", "effects: [{name: e, tools: ['*'], detect: [lint, lint], workspace: w}]\n", `detect: "lint" is empty or a duplicate`},
		{"effect that looks nowhere", "effects: [{name: e, tools: ['*'], detect: [lint]}]\n", `the effect "e" needs a workspace: the directory it runs in`},
		{"effect that looks for a command for some files", "effects: [{name: e, tools: ['*'], detect: [lint], workspace: w, paths: a}]\n", "a detected command runs on the whole workspace"},
		{"workspace of a function", "effects: [{name: e, tools: ['*'], go: a, workspace: w}]\n", "workspace and paths belong to a command"},
		{"command without a workspace", "effects: [{name: e, tools: ['*'], command: [a]}]\n", `the effect "e" needs a workspace: the directory it runs in`},
		{"effect twice", "effects: [{name: e, tools: ['*'], go: a}, {name: e, tools: ['*'], go: b}]\n", `the effect "e" is defined twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentfile.Parse("a.yaml", []byte(head+tt.text), noFiles)
			if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:2: ") && !strings.HasPrefix(err.Error(), "a.yaml:3: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}
