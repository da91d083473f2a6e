package schema_test

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/schema"
	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
)

// fenced are the blocks of a page.
var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

var update = flag.Bool("update", false, "write docs/reference/agent.schema.json")

// published is a schema that can be asked.
func published(t *testing.T, kind string) *jsonschema.Resolved {
	t.Helper()
	raw, err := schema.Of(kind)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// instance is a YAML file as a validator of JSON sees it.
func instance(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// sample is a file of one of the kinds.
type sample struct{ name, kind, text string }

// load is what the loader says of a sample.
func (s sample) load() error {
	switch s.kind {
	case schema.Hook:
		_, err := hookfile.Parse("part.yaml", []byte(s.text))
		return err
	case schema.Policy:
		_, err := agentfile.ParsePolicy("policy.yaml", []byte(s.text))
		return err
	case schema.Script:
		_, err := agentfile.Parse("part.yaml", []byte("model: {provider: scripted, script: s.yaml}\ntools: [{name: a, recorded: [{result: 1}]}]"),
			func(string) ([]byte, error) { return []byte(s.text), nil })
		return err
	}
	_, err := agentfile.Parse("part.yaml", []byte(s.text), func(string) ([]byte, error) { return []byte("- say: Hello."), nil })
	return err
}

// right are files that both accept. Together they use every member there is, which
// TestEveryMemberOfTheSchemaIsNeeded holds.
func right(t *testing.T) []sample {
	t.Helper()
	var all []sample
	page, err := os.ReadFile("../../../../docs/reference/agent-file.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		kind, text := schema.Agent, m[2]
		switch {
		case m[1] == "yml" && strings.HasPrefix(text, "block:"):
			kind = schema.Policy
		case m[1] == "yml" && strings.HasPrefix(text, "model:"):
		case m[1] == "yml":
			text = head + text
		case m[1] == "yaml" && strings.HasPrefix(text, "turns:"):
			kind = schema.Script
		case m[1] != "yaml":
			continue
		}
		all = append(all, sample{"docs/reference/agent-file.md, block " + string(rune('a'+i)), kind, text})
	}
	for _, of := range []struct{ glob, kind string }{
		{"../../../../examples/*/*.yaml", schema.Agent}, {"../../../../examples/*/scripts/*.yaml", schema.Script},
		{"../testdata/published/*.yaml", schema.Agent}, {"../testdata/published/policy/*.yaml", schema.Policy}, {"../testdata/published/hook/*.yaml", schema.Hook}, {"../testdata/published/script/*.yaml", schema.Script},
	} {
		files, err := filepath.Glob(of.glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", of.glob, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sample{file, of.kind, string(text)})
		}
	}
	return all
}

func TestWhatTheLoaderReadsPassesThePublishedSchema(t *testing.T) {
	schemas := map[string]*jsonschema.Resolved{}
	for _, kind := range schema.Kinds() {
		schemas[kind] = published(t, kind)
	}
	for _, s := range right(t) {
		// the others are held to the loader where they are
		if strings.HasPrefix(s.name, "testdata") {
			if err := s.load(); err != nil {
				t.Errorf("%s: the loader: %v", s.name, err)
			}
		}
		if err := schemas[s.kind].Validate(instance(t, s.text)); err != nil {
			t.Errorf("%s: the schema: %v\n%s", s.name, err, s.text)
		}
	}
}

// mappings are the schemas of mappings that take no other members, by their text: what stands in
// several places has one.
func mappings(tree any) map[string][]map[string]any {
	found := map[string][]map[string]any{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			if v["additionalProperties"] == false {
				text, _ := json.Marshal(v) // it was JSON a moment ago
				found[string(text)] = append(found[string(text)], v)
			}
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(tree)
	return found
}

func parsed(t *testing.T, kind string) any {
	t.Helper()
	raw, err := schema.Of(kind)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestEveryMemberIsExplained(t *testing.T) {
	for _, kind := range schema.Kinds() {
		for _, same := range mappings(parsed(t, kind)) {
			for name, of := range same[0]["properties"].(map[string]any) {
				if says, _ := of.(map[string]any)["description"].(string); says == "" {
					t.Errorf("%s: %s has no description in: %v", kind, name, same[0]["description"])
				}
			}
		}
	}
}

// TestEveryMemberOfTheSchemaIsNeeded takes one member after the other out of the schema: a file
// that is right must then be refused. So no member is one that the loader does not know, and none
// is without a file that shows it.
func TestEveryMemberOfTheSchemaIsNeeded(t *testing.T) {
	instances := map[string][]any{}
	for _, s := range right(t) {
		instances[s.kind] = append(instances[s.kind], instance(t, s.text))
	}
	for _, kind := range schema.Kinds() {
		of := published(t, kind)
		same := closedParts(of.Schema())
		if want := len(mappings(parsed(t, kind))); len(same) != want {
			t.Errorf("%s: %d kinds of mapping are looked at, want %d", kind, len(same), want)
		}
		for _, parts := range same {
			for name := range parts[0].Properties {
				// A schema that was resolved is not meant to be changed. If that
				// came to nothing, no member would seem to be needed.
				before := make([]*jsonschema.Schema, len(parts))
				for i, p := range parts {
					before[i] = p.Properties[name]
					delete(p.Properties, name)
				}
				if !slices.ContainsFunc(instances[kind], func(v any) bool { return of.Validate(v) != nil }) {
					t.Errorf("%s: no file shows the member %s of: %s; put it into testdata/published, or remove it", kind, name, parts[0].Description)
				}
				for i, p := range parts {
					p.Properties[name] = before[i]
				}
			}
		}
	}
}

// closedParts are the mappings that take no other members, by their text; those of one text stand
// in several places.
func closedParts(root *jsonschema.Schema) map[string][]*jsonschema.Schema {
	found := map[string][]*jsonschema.Schema{}
	var walk func(*jsonschema.Schema)
	walk = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		// not: {} is false
		if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil && len(s.Properties) > 0 {
			text, _ := json.Marshal(s) // it was JSON a moment ago
			found[string(text)] = append(found[string(text)], s)
		}
		for _, children := range []map[string]*jsonschema.Schema{s.Properties, s.Definitions} {
			for _, child := range children {
				walk(child)
			}
		}
		for _, child := range append(append(append([]*jsonschema.Schema{s.Items, s.Then, s.AdditionalProperties}, s.AnyOf...), s.OneOf...), s.AllOf...) {
			walk(child)
		}
	}
	walk(root)
	return found
}

// everywhere is an agent with an unknown member in every kind of mapping. What the loader says of
// it names every member.
const everywhere = `x: 1
model: {provider: scripted, x: 1, turns: [{x: 1, given: {x: 1}, calls: [{x: 1, tool: t}], say: a}]}
tools:
  - {x: 1, name: t, recorded: [{x: 1, result: 1}], deadline: {x: 1, within: 1s}, preview: {x: 1, tool: t}}
  - {name: u, http: {x: 1, url: "http://example.com/"}, parameters: {type: object}}
  - {name: l, lambda: {x: 1, function: f}, parameters: {type: object}}
  - {x: 1, name: c, agent: b, input: "{q}"}
  - {x: 1, name: r, a2a: {x: 1, url: "https://example.com/"}, input: "{q}"}
  - {name: m, mcp: {x: 1, server: s}, parameters: {type: object}}
servers: {s: {x: 1, url: "https://example.com/"}}
permissions:
  x: 1
  ask: [{x: 1, tool: t, when: {x: 1, argument: a, equals: 1}}]
  deny: [{x: 1, tool: t}]
  allow: [{x: 1, tool: t}]
stop: [{x: 1}, {x: 1, type: max_rounds, rounds: 1}]
budget: {x: 1, cost: {x: 1}}
deadlines: {x: 1}
finish: {x: 1}
effects: [{x: 1, name: e, tools: [t], go: f}]
notify: [{x: 1, name: n, on: [done], slack: {x: 1, channel: C0DESK, token: T}}]
groups: {g: [{x: 1, person: p, is: ["token:a"]}], h: ["token:b"]}
approvals:
  a: {x: 1, group: g, remind: {x: 1, after: 1h}, deadline: {x: 1, within: 9h}}
  b: {x: 1, stages: [{x: 1, group: g, escalate: {x: 1, after: 1h, to: h}}], hours: {x: 1, days: [mon], from: "09:00", to: "17:00", zone: UTC}}
`

// asked is one whose model is asked over a network, as everywhere is.
const asked = `model: {provider: bedrock, model: m, guardrail: {x: 1, id: g, version: 1}, price: {x: 1, input: 1, output: 1}}
`

// never are members that the loader names and refuses at some places; there the schema has no
// member of that name.
var never = map[string]string{
	"permissions: {deny: [{tool: t, mode: replay_tool_call}]}":  "mode belongs to rules that ask",
	"permissions: {deny: [{tool: t, grant: false}]}":            "grant belongs to rules that ask",
	"permissions: {allow: [{tool: t, mode: replay_tool_call}]}": "mode belongs to rules that ask",
	"permissions: {allow: [{tool: t, grant: false}]}":           "grant belongs to rules that ask",
	"permissions: {allow: [{tool: t, reason: because}]}":        "remove the reason",
	"deadlines: {approval: {within: 1s, result: 1}}":            "result and then: result go together",
}

func TestTheSchemaNamesTheMembersThatTheLoaderNames(t *testing.T) {
	err := errors.Join(sample{kind: schema.Agent, text: everywhere}.load(), sample{kind: schema.Agent, text: asked}.load())
	if err == nil {
		t.Fatal("no error")
	}
	kinds := regexp.MustCompile(`in ([a-z0-9 ]+); it takes ([a-z0-9_, ]+)|value, or one of ([a-z_, ]+) with`).FindAllStringSubmatch(err.Error(), -1)
	if len(kinds) != 40 {
		t.Fatalf("%d kinds of mapping, want 40: %v", len(kinds), err)
	}
	named := map[string]bool{}
	for _, m := range kinds {
		named[members(m[2]+m[3])] = true
	}
	// rules and deadlines with less; see never
	less := []string{"reason,target,tool,when", "target,tool,when", "then,within"}
	found := map[string]bool{}
	for _, same := range mappings(parsed(t, schema.Agent)) {
		names := strings.Join(slices.Sorted(maps.Keys(same[0]["properties"].(map[string]any))), ",")
		found[names] = true
		// of a stop rule; form.StopRules makes the others alike
		long := regexp.MustCompile(`^\w+,type$|^type,\w+$`).MatchString(names)
		if !named[names] && !slices.Contains(less, names) && !long {
			t.Errorf("the schema takes %s, and the loader has no such mapping:\n%v", names, named)
		}
	}
	for names := range named {
		if !found[names] {
			t.Errorf("the loader takes %s, and the schema has no such mapping", names)
		}
	}
	of := published(t, schema.Agent)
	for text, says := range never {
		text = head + "tools: [{name: t, recorded: [{result: 1}]}]\n" + text
		err := sample{kind: schema.Agent, text: text}.load()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the loader says %v, want %q\n%s", err, says, text)
		}
		if of.Validate(instance(t, text)) == nil {
			t.Errorf("the schema takes\n%s", text)
		}
	}
}

// members is a list of names in order.
func members(list string) string {
	names := strings.Split(list, ", ")
	slices.Sort(names)
	return strings.Join(names, ",")
}

func TestTheSchemaRefusesAnUnknownMemberAnywhere(t *testing.T) {
	for _, text := range []string{everywhere, asked} {
		refusesMarks(t, text)
	}
}

// refusesMarks leaves one mark after the other in a file that would be right without any.
func refusesMarks(t *testing.T, all string) {
	t.Helper()
	lines := strings.SplitAfter(all, "\n")
	of := published(t, schema.Agent)
	const mark = "x: 1"
	places := strings.Count(all, mark)
	for i := range places {
		text, at := "", 0
		for _, line := range lines {
			for part := range strings.SplitSeq(strings.ReplaceAll(line, mark, "\x00"+mark+"\x00"), "\x00") {
				if part == mark {
					if at++; at-1 != i {
						continue
					}
				}
				text += part
			}
		}
		text = regexp.MustCompile(`(?m)([{,]) *, `).ReplaceAllString(text, "$1")
		text = regexp.MustCompile(`(?m), *}`).ReplaceAllString(text, "}")
		text = regexp.MustCompile(`stop: \[\{\}, `).ReplaceAllString(text, "stop: [")
		if err := (sample{kind: schema.Agent, text: text}).load(); err == nil {
			t.Errorf("the loader takes\n%s", text)
		}
		if of.Validate(instance(t, text)) == nil {
			t.Errorf("the schema takes\n%s", text)
		}
	}
}

func TestThePublishedSchemaOfAgentsIsTheOneInTheDocs(t *testing.T) {
	const file = "../../../../docs/reference/agent.schema.json"
	raw, err := schema.Of(schema.Agent)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != string(raw) {
		t.Errorf("%s is not what the program prints (%v); go test ./internal/agent -run Published -update writes it", file, err)
	}
}

func TestThereIsNoSchemaOfAnotherKind(t *testing.T) {
	if _, err := schema.Of("agents"); err == nil {
		t.Error("no error")
	}
}
