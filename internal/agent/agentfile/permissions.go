package agentfile

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

func (s *source) permissions(n *yaml.Node) agent.Permissions {
	if n == nil {
		return agent.Permissions{}
	}
	o, ok := s.Object(n, "permissions")
	if !ok {
		return agent.Permissions{}
	}
	defer o.Close()
	fallback := effect(o.One("default", core.Ask.String(), core.Allow.String(), core.Deny.String()))
	p := s.narrowing(o)
	p.Default, p.Allow = fallback, s.rules(o.List("allow"), core.Allow)
	return p
}

// narrowing reads the lists that restrict: block, deny and ask.
func (s *source) narrowing(o *object) agent.Permissions {
	return agent.Permissions{
		Block: s.rules(o.List("block"), core.Block),
		Deny:  s.rules(o.List("deny"), core.Deny),
		Ask:   s.rules(o.List("ask"), core.Ask),
	}
}

// effect is the effect of a checked word. An empty word asks.
func effect(word string) core.Effect {
	e := core.Ask
	_ = e.UnmarshalText([]byte(word))
	return e
}

func (s *source) rules(nodes []*yaml.Node, e core.Effect) []agent.Rule {
	var rules []agent.Rule
	for _, n := range nodes {
		rules = append(rules, s.rule(n, e))
	}
	return rules
}

// rule reads a rule: a text, or a mapping with more members.
func (s *source) rule(n *yaml.Node, e core.Effect) agent.Rule {
	if n.Kind == yaml.ScalarNode {
		return s.shortRule(n, e)
	}
	o, ok := s.Object(n, "a rule")
	if !ok {
		return agent.Rule{}
	}
	defer o.Close()
	r := agent.Rule{Tool: o.Text("tool"), Target: o.Text("target"), Reason: o.Text("reason"), When: s.conditions(o.Take("when"))}
	if r.Target != "" && o.Member("tool") == nil {
		r.Tool = "*"
	}
	r.Mode = s.mode(o, e)
	r.NoGrant = !o.Flag("grant") && o.Member("grant") != nil
	r.NotBy = o.One("not_by", core.NotByStarter)
	r.Approval = s.ruledApproval(o, e, r.Mode)
	s.checkSubject(n, r, e)
	switch {
	case e != core.Ask && o.Member("grant") != nil:
		s.Refuse(o.Member("grant"), "grant belongs to rules that ask; remove it")
	case e != core.Ask && r.NotBy != "":
		s.Refuse(o.Member("not_by"), "not_by belongs to rules that ask; remove it")
	case e == core.Allow && r.Reason != "":
		s.Refuse(o.Member("reason"), "a rule under allow takes no reason; remove the reason")
	}
	return r
}

func (s *source) shortRule(n *yaml.Node, e core.Effect) agent.Rule {
	if n.ShortTag() != "!!str" {
		s.Refuse(n, "a rule is %s; write a tool's name or pattern, in quotes", strictyaml.KindOf(n))
		return agent.Rule{}
	}
	r, err := agent.ReadShorthand(n.Value)
	if err != nil {
		s.Refuse(n, "%v", err)
	}
	s.checkSubject(n, r, e)
	for _, c := range r.When {
		s.expression(n, c.Regex)
		s.expression(n, c.NotRegex)
	}
	return r
}

func (s *source) mode(o *object, e core.Effect) core.ResumeMode {
	var mode core.ResumeMode
	word := o.One("mode", core.ReplayToolCall.String(), core.UseDecisionAsToolResult.String(), core.PassDecisionToTool.String())
	if word == "" {
		return mode
	}
	_ = mode.UnmarshalText([]byte(word)) // one of the three
	switch {
	case e != core.Ask:
		s.Refuse(o.Member("mode"), "mode belongs to rules that ask; remove it")
	case s.layer:
		s.Refuse(o.Member("mode"), "mode belongs to the rules of an agent, which knows its tools; remove it")
	}
	return mode
}

// checkSubject checks the tool and the target of a rule.
func (s *source) checkSubject(n *yaml.Node, r agent.Rule, e core.Effect) {
	s.checkPattern(n, r)
	if _, err := agent.ReadAim(r.Target); err != nil {
		s.Refuse(n, "%v", err)
	}
	if err := r.OnCommand(e.String()); err != nil {
		s.Refuse(n, "%v", err)
	}
}

func (s *source) checkPattern(n *yaml.Node, r agent.Rule) {
	if !agent.ToolGlob.MatchString(r.Tool) {
		s.Refuse(n, "%q is not a tool name or pattern; use letters, digits, - and _, with * for any text", r.Tool)
	}
}

// conditions reads one condition, or a list of them.
func (s *source) conditions(n *yaml.Node) agent.Conditions {
	switch {
	case n == nil:
		return nil
	case n.Kind != yaml.SequenceNode:
		return agent.Conditions{s.condition(n)}
	case len(n.Content) == 0:
		s.Refuse(n, "when is an empty list; add a condition, or remove it")
	}
	var out agent.Conditions
	for _, item := range n.Content {
		out = append(out, s.condition(item))
	}
	return out
}

func (s *source) condition(n *yaml.Node) agent.Condition {
	o, ok := s.Object(n, "when")
	if !ok {
		return agent.Condition{}
	}
	defer o.Close()
	tested := cmp.Or(s.tested, "argument")
	c := agent.Condition{
		Argument: o.Text(tested),
		Above:    s.bound(o, "above"), Below: s.bound(o, "below"), AtLeast: s.bound(o, "at_least"), AtMost: s.bound(o, "at_most"),
		Equals: s.operand(o, "equals"), NotEquals: s.operand(o, "not_equals"), In: s.operands(o, "in"),
		Glob: s.pattern(o, "glob"), NotGlob: s.pattern(o, "not_glob"), Regex: s.regex(o, "regex"), NotRegex: s.regex(o, "not_regex"),
	}
	if exists := o.Flag("exists"); o.Member("exists") != nil {
		c.Exists = &exists
	}
	if c.Argument == "" {
		s.Refuse(n, "a condition needs %s: the name of what it tests", tested)
	}
	s.checkTests(o)
	return c
}

// checkTests requires exactly one test per condition. Bounds together are one test.
func (s *source) checkTests(o *object) {
	given := func(name string) bool { return o.Member(name) != nil }
	tests := 0
	if slices.ContainsFunc(form.BoundTests, given) {
		tests++
	}
	for _, name := range form.OtherTests {
		if given(name) {
			tests++
		}
	}
	if tests != 1 {
		s.Refuse(o.Node, "when needs one test: bounds (%s) or one of %s; for several make a list of conditions",
			strings.Join(form.BoundTests, ", "), strings.Join(form.OtherTests, ", "))
	}
}

func (s *source) bound(o *object, name string) json.Number {
	n := o.Take(name)
	if n == nil {
		return ""
	}
	number, ok := s.any(n).(json.Number)
	if _, fits := agent.Rational(number); !ok || !fits {
		s.Refuse(n, "%s must be a number", name)
		return ""
	}
	return number
}

func (s *source) operand(o *object, name string) json.RawMessage {
	n := o.Take(name)
	if n == nil {
		return nil
	}
	return s.scalarValue(n, name)
}

func (s *source) operands(o *object, name string) []json.RawMessage {
	nodes := o.List(name)
	if n := o.Member(name); n != nil && n.Kind == yaml.SequenceNode && len(nodes) == 0 {
		s.Refuse(n, "%s is an empty list; give at least one value", name)
	}
	var values []json.RawMessage
	for _, n := range nodes {
		values = append(values, s.scalarValue(n, name))
	}
	return values
}

func (s *source) scalarValue(n *yaml.Node, name string) json.RawMessage {
	v := s.any(n)
	if agent.EqualValues(v, v) != agent.Yes {
		s.Refuse(n, "%s must be text, a number, true or false, not %s", name, strictyaml.KindOf(n))
	}
	return core.Encode(v)
}

func (s *source) pattern(o *object, name string) string {
	text := o.Text(name)
	if n := o.Member(name); n != nil && n.Kind == yaml.ScalarNode && n.Value == "" {
		s.Refuse(n, "%s is empty; give a pattern, or use equals", name)
	}
	return text
}

func (s *source) regex(o *object, name string) string {
	text := s.pattern(o, name)
	if n := o.Member(name); n != nil {
		s.expression(n, text)
	}
	return text
}
