package rehearsal

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// Script is a file of tests of one agent.
type Script struct {
	File  string
	Agent string
	Line  int // where the agent is named, or the file begins
	Tests []Test
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
	Verb      string // one of verbs
	Tool      string
	Arguments *Value // with approve: other arguments
	Grant     string // with approve: what else is allowed
	Reason    string
	Result    *Value // with answer
	Error     string // with fail
}

// verbs are the answers there are.
var verbs = []string{"approve", "deny", "answer", "fail"}

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

// Read reads a file of tests. Everything that is wrong is returned, each with its line; the script is usable only if nothing is.
func Read(file string, text []byte) (Script, []agent.Problem) {
	r := &reader{file: file}
	s := Script{File: file, Line: 1, Agent: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	if root := r.document(text); root != nil {
		r.script(root, &s)
	}
	slices.SortStableFunc(r.problems, func(x, y agent.Problem) int { return x.Line - y.Line })
	return s, r.problems
}

func (r *reader) script(root *yaml.Node, s *Script) {
	o, ok := r.object(root, "a file of tests")
	if !ok {
		return
	}
	defer o.close()
	if n := o.members["agent"]; n != nil {
		s.Line = n.Line
	}
	if name := o.text("agent"); name != "" {
		s.Agent = name
	}
	nodes := o.list("tests")
	if len(nodes) == 0 {
		r.refuse(root, "there are no tests in the file; list them under tests")
	}
	seen := map[string]bool{}
	for _, n := range nodes {
		t := r.test(n)
		if t.Name != "" && seen[t.Name] {
			r.refuse(n, "there are two tests %q; rename one", t.Name)
		}
		seen[t.Name] = true
		s.Tests = append(s.Tests, t)
	}
}

func (r *reader) test(n *yaml.Node) Test {
	t := Test{Line: n.Line}
	o, ok := r.object(n, "a test")
	if !ok {
		return t
	}
	defer o.close()
	if t.Name = o.text("name"); t.Name == "" {
		r.refuse(n, "a test needs a name; say what it shows")
	}
	expects := false
	for i, node := range o.list("steps") {
		step := r.step(node)
		if i == 0 && step.Run == "" {
			r.refuse(node, "a test begins with run; nothing can be expected or decided before")
		}
		expects = expects || step.Expect != nil
		t.Steps = append(t.Steps, step)
	}
	if !expects {
		r.refuse(n, "the test %q expects nothing, so it cannot fail; add a step expect", t.Name)
	}
	return t
}

func (r *reader) step(n *yaml.Node) Step {
	s := Step{Line: n.Line}
	o, ok := r.object(n, "a step")
	if !ok {
		return s
	}
	defer o.close()
	s.Run, s.Say = o.text("run"), o.text("say")
	if d := o.take("decide"); d != nil {
		s.Decide = r.decision(d)
	}
	if e := o.take("expect"); e != nil {
		s.Expect = r.expectation(e)
	}
	if len(o.keys) != 1 {
		r.refuse(n, "a step is exactly one of run, say, decide and expect; make a step of each")
	}
	for _, word := range []string{"run", "say"} {
		if v := o.members[word]; v != nil && v.Kind == yaml.ScalarNode && strings.TrimSpace(v.Value) == "" {
			r.refuse(v, "%s is empty; write what the user says", word)
		}
	}
	return s
}

func (r *reader) decision(n *yaml.Node) *Decision {
	o, ok := r.object(n, "a decision")
	if !ok {
		return nil
	}
	defer o.close()
	var d Decision
	given := 0
	for _, verb := range verbs {
		if tool := o.text(verb); o.members[verb] != nil {
			d.Verb, d.Tool = verb, tool
			given++
		}
	}
	d.Arguments, d.Grant, d.Reason = o.value("arguments"), o.text("grant"), o.text("reason")
	d.Result, d.Error = o.value("result"), o.text("error")
	if given != 1 || d.Tool == "" {
		r.refuse(n, "a decision is exactly one of %s, with the name of the tool whose call waits", strings.Join(verbs, ", "))
		return &d
	}
	for member, verb := range map[string]string{"arguments": "approve", "grant": "approve", "result": "answer", "error": "fail"} {
		if m := o.members[member]; m != nil && d.Verb != verb {
			r.refuse(m, "%s goes with %s, not with %s; remove it", member, verb, d.Verb)
		}
	}
	if d.Verb == "answer" && d.Result == nil || d.Verb == "fail" && d.Error == "" {
		r.refuse(n, "%s needs %s; say what the call comes to", d.Verb, map[string]string{"answer": "a result", "fail": "an error"}[d.Verb])
	}
	return &d
}

func (r *reader) expectation(n *yaml.Node) *Expectation {
	o, ok := r.object(n, "expect")
	if !ok {
		return nil
	}
	defer o.close()
	e := Expectation{
		Status: o.one("status", "waiting", "done"),
		Reason: o.one("reason", "natural_end", "behavior_requested", "stopped", "cancelled", "blocked", "error"),
		Code:   o.text("code"), ResponseState: o.one("response_state", "done", "no_op", "awaiting_input"), Error: o.text("error"),
		Output: o.value("output"), Pending: r.expectedCalls(o, "pending"), Calls: r.expectedCalls(o, "calls"),
	}
	if len(o.keys) == 0 {
		r.refuse(n, "expect is empty; say what must hold, as in status: done")
	}
	return &e
}

// expectedCalls are nil if nothing is said of them, which is something else than none.
func (r *reader) expectedCalls(o *object, name string) *[]Expected {
	nodes := o.list(name)
	if o.members[name] == nil {
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
	o, ok := r.object(n, fmt.Sprintf("a call under %s", list))
	if !ok {
		return e
	}
	defer o.close()
	if e.Tool = o.text("tool"); e.Tool == "" {
		r.refuse(n, "a call needs a tool: its name")
	}
	e.Arguments = o.value("arguments")
	if list == "pending" {
		e.Kind, e.Message = o.one("kind", "approval", "client", "input", "unknown_outcome"), o.value("message")
		return e
	}
	e.Ran, e.Result = o.value("ran"), o.value("result")
	if failed := o.flag("failed"); o.members["failed"] != nil {
		e.Failed = &failed
	}
	return e
}
