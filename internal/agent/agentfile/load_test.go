package agentfile_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

//go:embed testdata/complete.yaml
var complete string // it has every field

func noFiles(string) ([]byte, error) { return nil, os.ErrNotExist }

func parse(t *testing.T, text string) agent.Definition {
	t.Helper()
	d, err := agentfile.Parse("refund-desk.yaml", []byte(text), noFiles)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return d
}

func TestParseReadsEveryField(t *testing.T) {
	d := parse(t, complete)
	want := agent.Definition{
		Name: "refund-desk", Description: "Refunds orders.", Instructions: "Be kind.\n",
		Model: agent.Model{Provider: agent.ProviderScripted, Turns: []agent.Turn{
			{Given: agent.Given{User: "refund (?P<order>[A-Z]-[0-9]+)", NoResult: true}, Say: "One moment.",
				Calls: []agent.ScriptCall{{Tool: "lookup", Arguments: []byte(`{"exact":1.50,"many":[1,{"x":null}],"order":"${order}"}`)}}},
			{Given: agent.Given{Tool: "lookup", Result: `"paid": (?P<paid>\d+)`, Step: 2},
				Calls: []agent.ScriptCall{{Tool: "refund", Arguments: []byte(`{"amount":"${paid}"}`), ID: "r1"}}},
			{Say: "Done."},
		}},
		Tools: []agent.Tool{
			{Name: "lookup", Go: "lookup_order"},
			{Name: "refund", Go: "refund", Delivery: core.AtMostOnce},
			{Name: "locate", Client: true, Description: "Where the user is.",
				Parameters: []byte(`{"properties":{"precise":{"type":"boolean"}},"required":["precise"],"type":"object"}`)},
			{Name: "rates", Idempotent: true, Recorded: []agent.Answer{
				{When: map[string]json.RawMessage{"from": json.RawMessage(`"EUR"`)}, Result: []byte(`{"rate":1.10}`)}, {Error: "unknown currency"},
			}},
		},
		Permissions: agent.Permissions{
			Default: core.Deny,
			Deny:    []agent.Rule{{Tool: "drop_*"}},
			Ask: []agent.Rule{{Tool: "refund", Reason: "Above the limit.", Mode: core.PassDecisionToTool,
				When: agent.Conditions{{Argument: "amount", Above: "100"}}}},
			Allow: []agent.Rule{{Tool: "lookup"}, {Tool: "refund"}, {Tool: "locate"}, {Tool: "rates"}},
		},
		Stop: []stoprule.Spec{{Type: "max_rounds", Rounds: agent.DefaultRounds}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func TestDefinitionSurvivesItsCanonicalForm(t *testing.T) {
	d := parse(t, complete)
	again, err := agent.Decode(d.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Errorf("after Encode and Decode (-want +got):\n%s", diff)
	}
	if d.Digest() != again.Digest() || !strings.HasPrefix(d.Digest(), "sha256:") || len(d.Digest()) != 7+64 {
		t.Errorf("digests %s and %s", d.Digest(), again.Digest())
	}
	reordered := parse(t, "permissions: {default: deny}\n"+strings.Split(complete, "permissions:")[0])
	if reordered.Digest() == d.Digest() {
		t.Error("other permissions, same digest")
	}
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, raw := range map[string]string{
		"an unknown member":        `{"name":"a","model":{"provider":"scripted"},"permissions":{"default":"ask"},"budget":1}`,
		"an unknown nested member": `{"name":"a","model":{"provider":"scripted","temprature":1},"permissions":{"default":"ask"}}`,
		"something behind it":      `{"name":"a","model":{"provider":"scripted"},"permissions":{"default":"ask"}} {}`,
		"no name":                  `{"model":{"provider":"scripted"},"permissions":{"default":"ask"}}`,
		"an unknown effect":        `{"name":"a","model":{"provider":"scripted"},"permissions":{"default":"maybe"}}`,
	} {
		if _, err := agent.Decode([]byte(raw)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

const head = "model: {provider: scripted, turns: [{say: hi}]}\n" // line 1 of what follows

// withTool is an agent of two lines with a tool a.
const withTool = head + "tools: [{name: a, go: a}]\n"

func TestParseNamesFileLineAndMistake(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty file", "", []string{"a.yaml:1: the file is empty"}},
		{"only a comment", "# nothing\n", []string{"a.yaml:1: the file is empty"}},
		{"second document", head + "---\nname: b\n", []string{"a.yaml:2: a second document"}},
		{"broken YAML", head + "tools: [\n", []string{"this is not YAML"}},
		{"bare star", head + "permissions:\n  allow: [*]\n", []string{"a.yaml:3: this is not YAML", "in quotes"}},
		{"a list", "- a\n", []string{"a.yaml:1: an agent is a list"}},
		{"unknown field", head + "modell: x\n", []string{`a.yaml:2: unknown field "modell" in an agent; did you mean "model"? it takes name, description, model`}},
		{"unknown nested field", head + "tools:\n  - name: a\n    go: a\n    colour: red\n", []string{`a.yaml:5: unknown field "colour" in a tool`}},
		{"merge key", head + "permissions:\n  <<: {default: allow}\n", []string{`a.yaml:3: unknown field "<<"`}},
		{"alias", "description: &x hi\ninstructions: *x\n" + head, []string{"a.yaml:2: instructions must be text, not an alias"}},
		{"duplicate key", head + "name: a\nname: b\n", []string{`a.yaml:3: "name" is given twice`}},
		{"duplicate key in arguments", "model:\n  provider: scripted\n  turns:\n    - calls:\n        - tool: a\n          arguments: {x: 1, x: 2}\n",
			[]string{`a.yaml:6: "x" is given twice`}},
		{"no model", "name: a\n", []string{"a.yaml:1: the agent has no model"}},
		{"no provider", "model: {turns: []}\n", []string{"a.yaml:1: model needs a provider"}},
		{"bad provider", "model: {provider: magic}\n", []string{`a.yaml:1: provider cannot be "magic"; it is one of scripted, recorded`}},
		{"no turns", "model: {provider: scripted}\n", []string{"exactly one of turns and script"}},
		{"empty turns", "model: {provider: scripted, turns: []}\n", []string{"the script has no turns"}},
		{"empty turn", "model: {provider: scripted, turns: [{given: {}}]}\n", []string{"the turn is empty"}},
		{"file of a script", "model: {provider: scripted, file: x}\n", []string{"file belongs to the provider recorded"}},
		{"recorded without file", "model: {provider: recorded}\n", []string{"model needs a file"}},
		{"recording gone", "model: {provider: recorded, file: x.jsonl}\n", []string{"a.yaml:1: the recording x.jsonl cannot be read"}},
		{"absolute path", "model: {provider: scripted, script: /x.yaml}\n", []string{"name it relative to this file"}},
		{"bad expression", "model:\n  provider: scripted\n  turns:\n    - say: x\n      given: {user: '('}\n", []string{"a.yaml:5: not a regular expression"}},
		{"unknown placeholder", "model:\n  provider: scripted\n  turns:\n    - say: hi ${who}\n", []string{"a.yaml:4: ${who} has no group"}},
		{"bad step", "model: {provider: scripted, turns: [{say: x, given: {step: 0}}]}\n", []string{"step must be a number from 1"}},
		{"bad agent name", head + "name: Big Name\n", []string{`a.yaml:2: "Big Name" is not a valid agent name`}},
		{"reserved agent name", head + "name: dormouse-ask\n", []string{`a.yaml:2: "dormouse-ask" is the built-in agent behind POST /v1/asks; give this one another name`}},
		{"number as text", head + "description: 12\n", []string{"a.yaml:2: description must be text, not a number; put it in quotes"}},
		{"tool without name", head + "tools: [{go: a}]\n", []string{`"" is not a valid tool name`}},
		{"tool named twice", head + "tools:\n  - {name: a, go: a}\n  - {name: a, go: b}\n", []string{`a.yaml:4: tool "a" is also on line 3`}},
		{"tool without a body", head + "tools: [{name: a}]\n", []string{"exactly one of go, http, lambda, mcp, agent, a2a, client: true and recorded"}},
		{"tool with two bodies", head + "tools: [{name: a, go: a, client: true}]\n", []string{"exactly one of go, http, lambda, mcp, agent, a2a, client: true and recorded"}},
		{"bad delivery", head + "tools: [{name: a, go: a, delivery: exactly_once}]\n", []string{`delivery cannot be "exactly_once"; it is one of at_least_once, at_most_once`}},
		{"idempotent at most once", head + "tools: [{name: a, go: a, delivery: at_most_once, idempotent: true}]\n", []string{"cannot be idempotent and at_most_once"}},
		{"parameters of a Go function", head + "tools: [{name: a, go: a, parameters: {type: object}}]\n", []string{"come from the function"}},
		{"bad schema", head + "tools: [{name: a, client: true, parameters: {type: object, properties: 3}}]\n", []string{"a.yaml:2: parameters: not a JSON Schema"}},
		{"bad type in a schema", head + "tools: [{name: a, client: true, parameters: {type: object, properties: {x: {type: strin}}}}]\n", []string{`"strin" is not a JSON Schema type`}},
		{"schema of no object", head + "tools: [{name: a, client: true, parameters: {type: string}}]\n", []string{"begin the schema with type: object"}},
		{"bad pattern in a schema", head + "tools: [{name: a, client: true, parameters: {type: object, properties: {x: {pattern: '('}}}}]\n", []string{"not a JSON Schema"}},
		{"schema without end", head + "tools: [{name: a, client: true, parameters: {type: object, anyOf: [{$ref: '#'}]}}]\n", []string{`"#" leads back to itself`}},
		{"reference to nowhere", head + "tools: [{name: a, client: true, parameters: {type: object, properties: {x: {$ref: '#/$defs/y'}}}}]\n", []string{"leads nowhere"}},
		{"bad rule pattern", head + "permissions: {deny: ['rm -rf']}\n", []string{`"rm -rf" is not a tool name or pattern`}},
		{"empty rule", head + "permissions: {deny: [{reason: x}]}\n", []string{`"" is not a tool name or pattern`}},
		{"ask for a tool that is not there", withTool + "permissions:\n  ask:\n    - b\n", []string{`a.yaml:5: the agent has no tool "b"`}},
		{"allow of a tool that is not there", withTool + "permissions: {allow: [a, {tool: b}]}\n", []string{`the agent has no tool "b"`}},
		{"bad default", head + "permissions: {default: perhaps}\n", []string{`default cannot be "perhaps"; it is one of ask, allow, deny`}},
		{"mode of a deny", head + "permissions: {deny: [{tool: a, mode: replay_tool_call}]}\n", []string{"mode belongs to rules that ask"}},
		{"bad mode", withTool + "permissions: {ask: [{tool: a, mode: guess}]}\n", []string{`mode cannot be "guess"`}},
		{"when without argument", withTool + "permissions: {ask: [{tool: a, when: {above: 1}}]}\n", []string{"a condition needs argument"}},
		{"when without comparison", withTool + "permissions: {ask: [{tool: a, when: {argument: x}}]}\n", []string{"when needs one test: bounds (above, below"}},
		{"text as a bound", withTool + "permissions: {ask: [{tool: a, when: {argument: x, above: lots}}]}\n", []string{"above must be a number"}},
		{"answer without result", head + "tools: [{name: a, recorded: [{when: {x: 1}}]}]\n", []string{"exactly one of result and error"}},
		{"HA4 client tool asked for by name", head + "tools: [{name: a, client: true}]\npermissions: {ask: [a]}\n", []string{`a.yaml:2: the rule "a" asks for approval of client tool "a"`}},
		{"HA4 client tool asked for by pattern", head + "tools: [{name: ask_me, client: true}]\npermissions: {ask: ['ask_*']}\n", []string{`client tool "ask_me"`}},
		{"HA4 client tool asked for by condition", head + "tools: [{name: a, client: true}]\npermissions: {ask: [{tool: a, when: {argument: x, equals: 1}}], allow: [a]}\n", []string{`client tool "a"`}},
		{"several mistakes", "name: Bad\nmodel: {provider: scripted, turns: [{say: hi}]}\nfoo: 1\nbar: 2\n",
			[]string{`a.yaml:1: "Bad"`, `a.yaml:3: unknown field "foo"`, `a.yaml:4: unknown field "bar"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentfile.Parse("a.yaml", []byte(tt.text), noFiles)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error\n%v\ndoes not contain\n%s", err, want)
				}
			}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "a.yaml:") {
					t.Errorf("line %q names no place", line)
				}
			}
		})
	}
}

func TestADenyAndAPatternMayNameToolsThatAreNotThere(t *testing.T) {
	parse(t, head+"permissions: {deny: [gone], ask: ['mcp_*'], allow: ['*']}\n")
}

func TestClientToolUnderBroadAskIsFineOnceAllowed(t *testing.T) {
	parse(t, head+"tools: [{name: a, client: true}]\npermissions: {ask: ['*'], allow: [a]}\n")
}

func TestScriptInAFileOfItsOwnIsInlined(t *testing.T) {
	files := map[string]string{"scripts/s.yaml": "turns:\n  - say: hello\n", "scripts/list.yaml": "- say: hello\n", "scripts/bad.yaml": "turns:\n  - sai: hello\n"}
	read := func(rel string) ([]byte, error) {
		text, ok := files[filepath.ToSlash(rel)]
		if !ok {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}
	inline, err := agentfile.Parse("a.yaml", []byte("model: {provider: scripted, turns: [{say: hello}]}"), read)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"s.yaml", "list.yaml"} {
		d, err := agentfile.Parse("a.yaml", []byte("model: {provider: scripted, script: scripts/"+file+"}"), read)
		if err != nil || d.Digest() != inline.Digest() {
			t.Errorf("%s: %v, digest %s, want %s", file, err, d.Digest(), inline.Digest())
		}
	}
	_, err = agentfile.Parse(filepath.Join("dir", "a.yaml"), []byte("model: {provider: scripted, script: scripts/bad.yaml}"), read)
	if want := filepath.Join("dir", "scripts", "bad.yaml") + `:2: unknown field "sai"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestRecordingIsPinnedByItsContent(t *testing.T) {
	text := []byte("model: {provider: recorded, file: talk.jsonl}")
	pinned := func(content string) agent.Definition {
		d, err := agentfile.Parse("a.yaml", text, func(string) ([]byte, error) { return []byte(content), nil })
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	a, b := pinned("one"), pinned("two")
	if a.Model.File != "talk.jsonl" || a.Model.SHA256 != core.Digest([]byte("one")) || a.Digest() == b.Digest() {
		t.Errorf("%+v and %+v", a.Model, b.Model)
	}
}

func TestLoadReadsADirectory(t *testing.T) {
	write := func(dir string, files map[string]string) string {
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	t.Run("one agent a file, named after it, scripts below left alone", func(t *testing.T) {
		dir := write(t.TempDir(), map[string]string{
			"zeta.yml": head, "alpha.yaml": "model: {provider: scripted, script: scripts/s.yaml}\n", "notes.txt": "x", ".hidden.yaml": "x",
			"scripts/s.yaml": "- say: hi\n",
		})
		defs, err := agentfile.Load(dir)
		if err != nil || len(defs) != 2 || defs[0].Name != "alpha" || defs[1].Name != "zeta" {
			t.Errorf("%v, %v", defs, err)
		}
	})
	t.Run("all mistakes of all files at once", func(t *testing.T) {
		dir := write(t.TempDir(), map[string]string{"a.yaml": head + "x: 1\n", "b.yaml": head + "y: 1\n", "c.yaml": head + "name: d\n", "d.yaml": head})
		_, err := agentfile.Load(dir)
		for _, want := range []string{"a.yaml:2: ", "b.yaml:2: ", `d.yaml:1: agent "d" is also in`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not contain %s", err, want)
			}
		}
	})
	t.Run("no directory", func(t *testing.T) {
		if _, err := agentfile.Load(filepath.Join(t.TempDir(), "none")); err == nil {
			t.Error("no error")
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(complete)
	everything, err := os.ReadFile("testdata/published/everything.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(everything))
	for _, file := range []string{"agents.yaml", "a2a.yaml"} {
		calls, err := os.ReadFile("testdata/published/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(calls))
	}
	f.Add(head + "tools: [{name: a, client: true, parameters: {type: object, properties: {x: {$ref: '#/x'}}}}]\n")
	f.Add("model: {provider: scripted, turns: &a [*a]}\n")
	f.Add("a: !!int true\nb: !!binary x\n? [c]\n: d\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := agentfile.Parse("f.yaml", []byte(text), noFiles)
		if err != nil {
			return
		}
		again, err := agent.Decode(d.Encode())
		if err != nil {
			t.Fatalf("what was parsed cannot be decoded: %v", err)
		}
		if d.Digest() != again.Digest() {
			t.Fatal("the digest changed on the way through storage")
		}
	})
}
