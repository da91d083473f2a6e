package agent

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func (s *source) permissions(n *yaml.Node) Permissions {
	if n == nil {
		return Permissions{}
	}
	o, ok := s.object(n, "permissions")
	if !ok {
		return Permissions{}
	}
	defer o.close()
	return Permissions{
		Default: effect(o.one("default", core.Ask.String(), core.Allow.String(), core.Deny.String())),
		Deny:    s.rules(o.list("deny"), core.Deny),
		Ask:     s.rules(o.list("ask"), core.Ask),
		Allow:   s.rules(o.list("allow"), core.Allow),
	}
}

// effect is that of a word that was checked before; none asks.
func effect(word string) core.Effect {
	e := core.Ask
	_ = e.UnmarshalText([]byte(word))
	return e
}

func (s *source) rules(nodes []*yaml.Node, e core.Effect) []Rule {
	var rules []Rule
	for _, n := range nodes {
		rules = append(rules, s.rule(n, e))
	}
	return rules
}

// rule reads a rule, which is a tool's name or pattern, or a mapping that says more.
func (s *source) rule(n *yaml.Node, e core.Effect) Rule {
	if n.Kind == yaml.ScalarNode {
		r := Rule{Tool: n.Value}
		s.checkPattern(n, r)
		return r
	}
	o, ok := s.object(n, "a rule")
	if !ok {
		return Rule{}
	}
	defer o.close()
	r := Rule{Tool: o.text("tool"), Reason: o.text("reason"), When: s.condition(o.take("when"))}
	s.checkPattern(n, r)
	mode := o.one("mode", core.ReplayToolCall.String(), core.UseDecisionAsToolResult.String(), core.PassDecisionToTool.String())
	if mode != "" {
		_ = r.Mode.UnmarshalText([]byte(mode)) // one of the three
		if e != core.Ask {
			s.refuse(o.members["mode"], "mode belongs to rules that ask; remove it")
		}
	}
	if e == core.Allow && r.Reason != "" {
		s.refuse(o.members["reason"], "nobody is told why a call is allowed; remove the reason")
	}
	return r
}

func (s *source) checkPattern(n *yaml.Node, r Rule) {
	if !toolGlob.MatchString(r.Tool) {
		s.refuse(n, "%q cannot name tools; use letters, digits, - and _, with * for any text", r.Tool)
	}
}

func (s *source) condition(n *yaml.Node) *Condition {
	if n == nil {
		return nil
	}
	o, ok := s.object(n, "when")
	if !ok {
		return nil
	}
	defer o.close()
	c := &Condition{Argument: o.text("argument"), Above: s.bound(o, "above"), Below: s.bound(o, "below")}
	if equals := o.take("equals"); equals != nil {
		c.Equals = s.scalarValue(equals)
	}
	if c.Argument == "" {
		s.refuse(n, "when needs an argument: the name of the one it is about")
	}
	bounds := o.members["above"] != nil || o.members["below"] != nil
	if bounds == (o.members["equals"] != nil) {
		s.refuse(n, "when needs equals, or above, below or both")
	}
	return c
}

func (s *source) bound(o *object, name string) json.Number {
	n := o.take(name)
	if n == nil {
		return ""
	}
	number, ok := s.any(n).(json.Number)
	if _, fits := rational(number); !ok || !fits {
		s.refuse(n, "%s must be a number", name)
		return ""
	}
	return number
}

func (s *source) scalarValue(n *yaml.Node) json.RawMessage {
	v := s.any(n)
	if _, known := equalValues(v, v); !known {
		s.refuse(n, "equals must be text, a number, true or false, not %s", kindOf(n))
	}
	return core.Encode(v)
}
