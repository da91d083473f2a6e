package rehearsal

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// Script is a file of tests of one agent.
type Script struct {
	File  string
	Agent string
	Line  int // where the agent is named, or the file begins
	// what agents elsewhere answer; tests don't reach them
	Remote []Remote
	Tests  []Test
}

// Remote has the answers of the agent elsewhere that a tool calls. The first one that fits counts.
type Remote struct {
	Tool    string
	Line    int
	Answers []Answer
}

// Answer is one of them. Exactly one of Result and Error is set.
type Answer struct {
	Input  *Value // nil: fits any input
	Result *Value
	Error  string
}

// Test is a conversation and what must come of it.
type Test struct {
	Name  string
	Line  int
	Steps []Step
}

// Step is one thing that is done or expected. Exactly one of Run, Say, Decide and Expect is set.
type Step struct {
	Line   int
	Run    string // start a run in a new thread, with this input
	Say    string // the next message of the thread
	Decide *Decision
	Expect *Expectation
}

// Decision answers the first pending call of Tool.
type Decision struct {
	Verb      string // one of answers
	Tool      string
	Arguments *Value // with approve: other arguments
	Grant     string // with approve: what else is allowed
	Reason    string
	Result    *Value // with answer
	Error     string // with fail
}

// answers are the possible decisions.
var answers = []string{"approve", "deny", "answer", "fail"}

// Expectation is what must hold. What is not set is not looked at.
type Expectation struct {
	Status, Reason, Code, ResponseState, Error string
	Output                                     *Value
	Pending                                    *[]Expected
	Calls                                      *[]Expected
}

// Expected is one call that waits or that was made.
type Expected struct {
	Line      int
	Tool      string
	Kind      string // of a pending call: approval, client, input
	Message   *Value // of a pending call: what is shown
	Arguments *Value // as the model asked for it; of a pending call, as it would run
	Ran       *Value // of a call that was made: the arguments that the tool was given
	Result    *Value // of a call that was made
	Failed    *bool  // whether its result is an error
}

// Read reads a file of tests. Everything that is wrong is returned, each with its line; the script
// is usable only if nothing is.
func Read(file string, text []byte) (Script, []agentfile.Problem) {
	r := &reader{&strictyaml.Reader{File: file}}
	s := Script{File: file, Line: 1, Agent: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	if root := r.Document(text); root != nil {
		r.script(root, &s)
	}
	return s, r.problems()
}

func (r *reader) script(root *yaml.Node, s *Script) {
	o, ok := r.Object(root, "a file of tests")
	if !ok {
		return
	}
	defer o.Close()
	if n := o.Member("agent"); n != nil {
		s.Line = n.Line
	}
	if name := o.Text("agent"); name != "" {
		s.Agent = name
	}
	s.Remote = r.remotes(o.Take("remote"))
	nodes := o.List("tests")
	if len(nodes) == 0 {
		r.Refuse(root, "there are no tests in the file; list them under tests")
	}
	seen := map[string]bool{}
	for _, n := range nodes {
		t := r.test(n)
		if t.Name != "" && seen[t.Name] {
			r.Refuse(n, "there are two tests %q; rename one", t.Name)
		}
		seen[t.Name] = true
		s.Tests = append(s.Tests, t)
	}
}

func (r *reader) remotes(n *yaml.Node) (all []Remote) {
	if n == nil {
		return nil
	}
	o, ok := r.Object(n, "remote")
	if !ok {
		return nil
	}
	for _, key := range o.Keys {
		one := Remote{Tool: key.Value, Line: key.Line}
		nodes := o.List(key.Value)
		if len(nodes) == 0 {
			r.Refuse(key, "%s has no answers; list them, as in [{result: Looks good.}]", key.Value)
		}
		for _, n := range nodes {
			one.Answers = append(one.Answers, r.answer(n))
		}
		all = append(all, one)
	}
	return all
}

func (r *reader) answer(n *yaml.Node) Answer {
	o, ok := r.Object(n, "an answer")
	if !ok {
		return Answer{}
	}
	defer o.Close()
	a := Answer{Input: valueOf(o, "input"), Result: valueOf(o, "result"), Error: o.Text("error")}
	if (a.Result != nil) == (a.Error != "") {
		r.Refuse(n, "an answer has exactly one of result and error; say what the agent answers")
	}
	return a
}

func (r *reader) test(n *yaml.Node) Test {
	t := Test{Line: n.Line}
	o, ok := r.Object(n, "a test")
	if !ok {
		return t
	}
	defer o.Close()
	if t.Name = o.Text("name"); t.Name == "" {
		r.Refuse(n, "a test needs a name; say what it shows")
	}
	expects := false
	for i, node := range o.List("steps") {
		step := r.step(node)
		if i == 0 && step.Run == "" {
			r.Refuse(node, "a test begins with run; nothing can be expected or decided before")
		}
		expects = expects || step.Expect != nil
		t.Steps = append(t.Steps, step)
	}
	if !expects {
		r.Refuse(n, "the test %q expects nothing, so it cannot fail; add a step expect", t.Name)
	}
	return t
}

func (r *reader) step(n *yaml.Node) Step {
	s := Step{Line: n.Line}
	o, ok := r.Object(n, "a step")
	if !ok {
		return s
	}
	defer o.Close()
	s.Run, s.Say = o.Text("run"), o.Text("say")
	if d := o.Take("decide"); d != nil {
		s.Decide = r.decision(d)
	}
	if e := o.Take("expect"); e != nil {
		s.Expect = r.expectation(e)
	}
	if len(o.Keys) != 1 {
		r.Refuse(n, "a step is exactly one of run, say, decide and expect; make a step of each")
	}
	for _, word := range []string{"run", "say"} {
		if v := o.Member(word); v != nil && v.Kind == yaml.ScalarNode && strings.TrimSpace(v.Value) == "" {
			r.Refuse(v, "%s is empty; write what the user says", word)
		}
	}
	return s
}

func (r *reader) decision(n *yaml.Node) *Decision {
	o, ok := r.Object(n, "a decision")
	if !ok {
		return nil
	}
	defer o.Close()
	var d Decision
	given := 0
	for _, verb := range answers {
		if tool := o.Text(verb); o.Member(verb) != nil {
			d.Verb, d.Tool = verb, tool
			given++
		}
	}
	d.Arguments, d.Grant, d.Reason = valueOf(o, "arguments"), o.Text("grant"), o.Text("reason")
	d.Result, d.Error = valueOf(o, "result"), o.Text("error")
	if given != 1 || d.Tool == "" {
		r.Refuse(n, "a decision is exactly one of %s, with the name of the tool whose call waits", strings.Join(answers, ", "))
		return &d
	}
	for member, verb := range map[string]string{"arguments": "approve", "grant": "approve", "result": "answer", "error": "fail"} {
		if m := o.Member(member); m != nil && d.Verb != verb {
			r.Refuse(m, "%s goes with %s, not with %s; remove it", member, verb, d.Verb)
		}
	}
	if d.Verb == "answer" && d.Result == nil || d.Verb == "fail" && d.Error == "" {
		r.Refuse(n, "%s needs %s; say what the call comes to", d.Verb, map[string]string{"answer": "a result", "fail": "an error"}[d.Verb])
	}
	return &d
}

func (r *reader) expectation(n *yaml.Node) *Expectation {
	o, ok := r.Object(n, "expect")
	if !ok {
		return nil
	}
	defer o.Close()
	e := Expectation{
		Status: o.One("status", "waiting", "done"),
		Reason: o.One("reason", "natural_end", "behavior_requested", "stopped", "cancelled", "blocked", "error"),
		Code:   o.Text("code"), ResponseState: o.One("response_state", "done", "no_op", "awaiting_input"), Error: o.Text("error"),
		Output: valueOf(o, "output"), Pending: r.expectedCalls(o, "pending"), Calls: r.expectedCalls(o, "calls"),
	}
	if len(o.Keys) == 0 {
		r.Refuse(n, "expect is empty; say what must hold, as in status: done")
	}
	return &e
}

// expectedCalls are nil if nothing is said of them, which is something else than none.
func (r *reader) expectedCalls(o *object, name string) *[]Expected {
	nodes := o.List(name)
	if o.Member(name) == nil {
		return nil
	}
	list := []Expected{}
	for _, n := range nodes {
		list = append(list, r.expected(n, name))
	}
	return &list
}

func (r *reader) expected(n *yaml.Node, list string) Expected {
	e := Expected{Line: n.Line}
	if n.Kind == yaml.ScalarNode {
		e.Tool = n.Value
		return e
	}
	o, ok := r.Object(n, fmt.Sprintf("a call under %s", list))
	if !ok {
		return e
	}
	defer o.Close()
	if e.Tool = o.Text("tool"); e.Tool == "" {
		r.Refuse(n, "a call needs a tool: its name")
	}
	e.Arguments = valueOf(o, "arguments")
	if list == "pending" {
		e.Kind, e.Message = o.One("kind", "approval", "client", "input", "unknown_outcome"), valueOf(o, "message")
		return e
	}
	e.Ran, e.Result = valueOf(o, "ran"), valueOf(o, "result")
	if failed := o.Flag("failed"); o.Member("failed") != nil {
		e.Failed = &failed
	}
	return e
}
