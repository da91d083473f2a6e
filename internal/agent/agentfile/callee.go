package agentfile

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// callee reads what a tool says of the agent that it calls; nil if it calls none. Whether there is
// such an agent, other files say.
func (s *source) callee(o *object) *agent.Callee {
	c := &agent.Callee{Name: o.Text("agent"), A2A: s.a2a(o.Take("a2a")), Input: o.Text("input")}
	n, input := o.Member("agent"), o.Member("input")
	switch {
	case n == nil && o.Member("a2a") != nil:
		return c
	case n == nil && input != nil:
		s.Refuse(input, "input is the first message of the agent that a tool calls; name that agent under agent or a2a, or remove it")
		return nil
	case n == nil:
		return nil
	case n.ShortTag() == "!!str" && !agent.AgentName.MatchString(c.Name):
		s.Refuse(n, "%q is not a valid agent name; write the name of an agent of this directory", c.Name)
	case c.Name == ask.Agent:
		s.Refuse(n, "%q is the built-in agent behind POST /v1/asks, which no tool can call; name another agent", c.Name)
	}
	return c
}

// a2a reads where an agent is that runs elsewhere; nil if there is none.
func (s *source) a2a(n *yaml.Node) *agent.A2A {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "a2a")
	if !ok {
		return &agent.A2A{}
	}
	defer o.Close()
	at := s.service(o, "A2A-")
	if o.Member("url") == nil {
		s.Refuse(n, "a2a needs a url: the agent's card, or the address that has it under /.well-known/agent-card.json, as in https://reviews.example.com")
	}
	return &agent.A2A{URL: at.URL, Headers: at.Headers, AllowPrivate: at.AllowPrivate, Timeout: s.callTime(o.Take("timeout"), "a2a"),
		MaxBytes: s.bytes(o.Take("max_bytes"), "max_bytes")}
}

// ending reads which text of the called agent is the result of the tool.
func (s *source) ending(n *yaml.Node, kind string) (final bool) {
	switch {
	case n == nil:
	case n.Kind != yaml.ScalarNode || n.Value != form.ResultOutput && n.Value != form.ResultFinal:
		s.Refuse(n, "the result of a tool with %s is %s (what the agent finishes with, or else its last text) or %s (its last text); write one of the two, or remove it",
			kind, form.ResultOutput, form.ResultFinal)
	default:
		final = n.Value == form.ResultFinal
	}
	return final
}

// finishCallee checks the input against the parameters, or makes the parameters from it. What runs
// elsewhere may get the same task twice, so the file can say whether it may.
func (s *source) finishCallee(o *object, t *agent.Tool) {
	if t.Agent.A2A != nil {
		deliver(o, t)
	}
	at, described := o.Member("input"), o.Member("parameters")
	switch {
	case at == nil && described == nil:
		s.Refuse(o.Member(t.Agent.Kind()), `a tool with %s needs input or parameters; write input: "{question}" for one argument, or the JSON Schema of its arguments, which the agent then gets as JSON`, t.Agent.Kind())
		return
	case at == nil:
		return
	case at.ShortTag() == "!!str" && strings.TrimSpace(t.Agent.Input) == "":
		s.Refuse(at, "input is empty; write the first message of the agent, with {argument} in it, or remove it")
		return
	}
	template, err := placeholder.Read(t.Agent.Input)
	if err != nil {
		s.Refuse(at, "input: %v", err)
		return
	}
	if secrets := template.Secrets(); len(secrets) > 0 {
		s.Refuse(at, "input is a message that models read and the journal keeps, so it cannot hold a secret; remove {secret:%s}", secrets[0])
	}
	if described == nil {
		t.Parameters = s.parametersOf(at, template)
		return
	}
	s.inserted(at, described, template, *t)
}

// parametersOf makes the parameters of a tool that says only its input: every placeholder is a
// required text.
func (s *source) parametersOf(at *yaml.Node, template placeholder.Template) []byte {
	properties, names := map[string]any{}, template.Arguments()
	for _, name := range names {
		if strings.Contains(name, ".") {
			s.Refuse(at, "{%s} is a part of an argument, so the arguments must be described; write parameters, or a name without dots", name)
		}
		properties[name] = map[string]string{"type": "string"}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(names) > 0 {
		schema["required"] = names
	}
	return core.Encode(schema)
}

// inserted refuses placeholders that are no arguments, and arguments that are not in the input: the
// model would have to give them, and an approver would see them, for nothing.
func (s *source) inserted(at, parameters *yaml.Node, template placeholder.Template, t agent.Tool) {
	known, _ := propertiesOf(t)
	schema, _ := agent.DecodeValue(t.Parameters).(map[string]any)
	used, _ := t.Agent.Inserted()
	for _, name := range template.Arguments() {
		if first, _, _ := strings.Cut(name, "."); !slices.Contains(known, name) && !slices.Contains(known, first) {
			s.Refuse(at, "the tool has no argument {%s}; describe %q under properties in the parameters, or remove it", name, first)
		}
	}
	for _, name := range agent.TypesOf(schema["required"]) {
		known = agent.AddName(known, name)
	}
	for _, name := range known {
		if !slices.Contains(used, name) {
			s.Refuse(parameters, "the argument %q is not in input, so the agent never gets it; put {%s} into input, or remove it", name, name)
		}
	}
}

// limits reads how deep and how many the calls of other agents may be.
func (s *source) limits(o *object, d *agent.Definition) {
	for _, limit := range []struct {
		name  string
		most  int
		place *int
	}{{"max_depth", form.MostDepth, &d.MaxDepth}, {"max_children", form.MostChildren, &d.MaxChildren}} {
		n := o.Take(limit.name)
		if n == nil {
			continue
		}
		number, err := strconv.Atoi(n.Value)
		calls := slices.ContainsFunc(d.Tools, func(t agent.Tool) bool { return t.Agent != nil })
		switch {
		case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || number < 1 || number > limit.most:
			s.Refuse(n, "%s must be a whole number from 1 to %d", limit.name, limit.most)
		case !calls:
			s.Refuse(n, "no tool of the agent calls an agent, so %s limits nothing; remove it", limit.name)
		default:
			*limit.place = number
		}
	}
}
