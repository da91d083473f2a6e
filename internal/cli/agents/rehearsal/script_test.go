package rehearsal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

// whole is a file with every member there is.
const whole = `agent: desk
remote:
  review:
    - {input: /A-2/, result: {fine: true}}
    - {error: on leave}
tests:
  - name: everything
    steps:
      - run: hello
      - say: again
      - decide: {approve: pay, arguments: {amount: 1}, grant: run, reason: fine}
      - decide: {deny: pay, reason: no}
      - decide: {answer: locate, result: {city: Rome}}
      - decide: {fail: locate, error: no signal}
      - expect:
          status: waiting
          reason: stopped
          code: max_rounds
          response_state: done
          error: crash_loop
          output: /on its way/
          pending: [pay, {tool: pay, kind: approval, arguments: {amount: /^1/}, message: /person/}]
          calls: [look_up, {tool: pay, arguments: {}, ran: {amount: 1}, result: [1, x], failed: true}]
`

func valid(t *testing.T, text string) error {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return resolved.Validate(v)
}

func TestAFileOfTestsIsRead(t *testing.T) {
	s, problems := Read("tests/other.yaml", []byte(whole))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if s.Agent != "desk" || s.Line != 1 || len(s.Tests) != 1 || len(s.Tests[0].Steps) != 7 || s.Tests[0].Line != 7 {
		t.Errorf("%+v", s)
	}
	steps := s.Tests[0].Steps
	if d := steps[2].Decide; d.Verb != "approve" || d.Tool != "pay" || string(d.Arguments.JSON()) != `{"amount":1}` || steps[2].Line != 11 {
		t.Errorf("%+v", steps[2])
	}
	if e := steps[6].Expect; len(*e.Pending) != 2 || len(*e.Calls) != 2 || !*(*e.Calls)[1].Failed || e.Output.String() != "/on its way/" {
		t.Errorf("%+v", e)
	}
	if r := s.Remote; len(r) != 1 || r[0].Tool != "review" || r[0].Line != 3 || len(r[0].Answers) != 2 || r[0].Answers[0].Input.String() != "/A-2/" || r[0].Answers[1].Error != "on leave" {
		t.Errorf("%+v", r)
	}
	if err := valid(t, whole); err != nil {
		t.Error(err)
	}
}

func TestAFileOfTestsIsNamedForItsAgent(t *testing.T) {
	s, problems := Read("a/tests/my-desk.yaml", []byte("tests: [{name: a, steps: [{run: hi}, {expect: {status: done}}]}]"))
	if len(problems) > 0 || s.Agent != "my-desk" {
		t.Error(s, problems)
	}
}

func TestAWrongFileOfTestsIsRefusedWithItsLine(t *testing.T) {
	// five lines, to which steps are added
	const begin = "tests:\n - name: a\n   steps:\n    - run: hi\n    - expect: {status: done}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":                     {"", ":1: the file is empty"},
		"no YAML":                   {"tests: [", "this is not YAML"},
		"two documents":             {begin + "---\n{}", "second document"},
		"a list":                    {"- a", "write it as a mapping"},
		"no tests":                  {"agent: desk", "no tests in the file"},
		"an unknown member":         {"test: []\n" + begin, `:1: unknown field "test" in a file of tests; did you mean "tests"?`},
		"an agent that is a number": {"agent: 7\n" + begin, ":1: agent must be text"},
		"a member twice":            {"tests: []\n" + begin, `"tests" is given twice`},
		"a test without a name":     {"tests:\n - steps: [{run: a}, {expect: {status: done}}]", ":2: a test needs a name"},
		"two tests of one name":     {begin + " - {name: a, steps: [{run: a}, {expect: {status: done}}]}", `:6: there are two tests "a"`},
		"no expectation":            {"tests:\n - {name: a, steps: [{run: a}]}", ":2: the test \"a\" expects nothing"},
		"no run first":              {"tests:\n - {name: a, steps: [{expect: {status: done}}]}", ":2: a test begins with run"},
		"an empty run":              {"tests:\n - {name: a, steps: [{run: ' '}, {expect: {status: done}}]}", "run is empty"},
		"a step of two":             {begin + "    - {say: a, run: b}", ":6: a step is exactly one of"},
		"an empty step":             {begin + "    - {}", ":6: a step is exactly one of"},
		"an unknown step":           {begin + "    - sya: a", `:6: unknown field "sya" in a step; did you mean "say"?`},
		"a decision without a verb": {begin + "    - decide: {reason: a}", ":6: a decision is exactly one of"},
		"a decision with two":       {begin + "    - decide: {approve: a, deny: a}", ":6: a decision is exactly one of"},
		"arguments of a no":         {begin + "    - decide: {deny: a, arguments: {}}", ":6: arguments goes with approve, not with deny"},
		"an answer without one":     {begin + "    - decide: {answer: a}", ":6: answer needs a result"},
		"a failure without one":     {begin + "    - decide: {fail: a}", ":6: fail needs an error"},
		"expect nothing":            {begin + "    - expect: {}", ":6: expect is empty"},
		"a status that is none":     {begin + "    - expect: {status: wating}", `:6: status cannot be "wating"; did you mean "waiting"?`},
		"an unknown expectation":    {begin + "    - expect: {calls: [{tool: a, kind: approval}]}", `:6: unknown field "kind" in a call under calls`},
		"pending that is no list":   {begin + "    - expect: {pending: pay}", ":6: pending must be a list"},
		"a call without a tool":     {begin + "    - expect: {calls: [{failed: true}]}", ":6: a call needs a tool"},
		"no expression":             {begin + "    - expect: {output: '/(/'}", ":6: output: error parsing regexp"},
		"no expression inside":      {begin + "    - expect: {calls: [{tool: a, arguments: {a: ['/(/']}}]}", ":6: arguments: error parsing regexp"},
		"remote that is a list":     {"remote: [a]\n" + begin, ":1: remote is a list"},
		"remote without answers":    {"remote: {a: []}\n" + begin, ":1: a has no answers; list them"},
		"an answer that is a text":  {"remote: {a: [b]}\n" + begin, ":1: an answer is text"},
		"an answer with both":       {"remote: {a: [{result: 1, error: b}]}\n" + begin, ":1: an answer has exactly one of result and error"},
		"an answer with neither":    {"remote: {a: [{input: b}]}\n" + begin, ":1: an answer has exactly one of"},
		"an answer with more":       {"remote: {a: [{result: 1, when: b}]}\n" + begin, `unknown field "when" in an answer`},
		"failed with a word":        {begin + "    - expect: {calls: [{tool: a, failed: always}]}", ":6: failed must be true or false"},
	} {
		_, problems := Read("x.yaml", []byte(tt.text))
		var all []string
		for _, p := range problems {
			all = append(all, p.String())
		}
		if got := strings.Join(all, "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q is not in\n%s", name, tt.want, got)
		}
		readable := name != "no YAML" && name != "two documents" && name != "a member twice" && name != "empty"
		seen := !strings.HasPrefix(name, "no expression") && name != "two tests of one name" && name != "no run first" && name != "an empty run"
		if readable && seen && valid(t, tt.text) == nil {
			t.Errorf("%s: the schema takes\n%s", name, tt.text)
		}
	}
}

func TestTheSchemaOfTestsTakesWhatTheReaderTakes(t *testing.T) {
	var tree map[string]any
	if err := json.Unmarshal(Schema(), &tree); err != nil {
		t.Fatal(err)
	}
	const wrong = `x: 1
remote: {a: [{x: 1}]}
tests:
  - x: 1
    name: a
    steps: [{x: 1}, {decide: {x: 1}}, {expect: {x: 1, pending: [{x: 1}], calls: [{x: 1}]}}]
`
	_, problems := Read("x.yaml", []byte(wrong))
	reader := map[string]bool{}
	for _, p := range problems {
		if names, ok := strings.CutPrefix(p.Fix, "it takes "); ok {
			reader[sorted(strings.Split(names, ", "))] = true
		}
	}
	if len(reader) != 8 {
		t.Errorf("the reader has %d kinds of mapping, want 8: %v", len(reader), problems)
	}
	schema := map[string]bool{}
	closed(tree, func(names []string) { schema[sorted(names)] = true })
	for names := range reader {
		if !schema[names] {
			t.Errorf("the reader takes %s, and the schema has no such mapping", names)
		}
	}
	for names := range schema {
		if !reader[names] {
			t.Errorf("the schema takes %s, and the reader has no such mapping", names)
		}
	}
}
