// Package agentfile reads agents from YAML, with every mistake named by file and line, and
// publishes the schema of such files.
package agentfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// Load reads every *.yaml and *.yml file directly in dir as one agent each, and returns them sorted
// by name. Scripts and recordings therefore belong in a subdirectory. The error joins all problems,
// each as "FILE:LINE: what is wrong; what to do". A directory without agents is valid.
func Load(dir string) ([]agent.Definition, error) {
	files, err := ReadFiles(dir)
	if err != nil {
		return nil, err
	}
	defs, unreadable := Sort(files)
	var errs []error
	for _, u := range unreadable {
		errs = append(errs, u.Err)
	}
	return defs, errors.Join(errs...)
}

// Parse reads one agent. read returns the content of a file the agent names, relative to it;
// fileName is for messages and, without its directory and ending, the default name. The error is as
// for [Load].
func Parse(fileName string, text []byte, read func(rel string) ([]byte, error)) (agent.Definition, error) {
	s := newSource(fileName)
	d := s.definition(text, read)
	if err := s.err(); err != nil {
		return agent.Definition{}, err
	}
	return d, nil
}

func (s *source) definition(text []byte, read func(string) ([]byte, error)) agent.Definition {
	root := s.Document(text)
	if root == nil {
		return agent.Definition{}
	}
	o, ok := s.Object(root, "an agent")
	if !ok {
		return agent.Definition{}
	}
	defer o.Close()
	d := agent.Definition{
		Name:         s.agentName(o),
		Description:  o.Text("description"),
		Model:        s.model(o, read),
		Instructions: o.Text("instructions"),
	}
	nodes := o.List("tools")
	d.Tools = s.tools(nodes)
	s.approvals(o, &d)
	permissions := o.Take("permissions")
	d.Permissions = s.permissions(permissions)
	s.terms(o, &d)
	s.extras(o, &d)
	s.callers(o, &d)
	s.limits(o, &d)
	d.Notify = s.notify(o)
	d.Servers = s.servers(o.Take("servers"))
	s.serving(d, o.Member("servers"), nodes)
	s.exclusive(d, nodes)
	s.aimless(d, permissions)
	s.titles(d, nodes)
	s.previews(d, nodes)
	s.priced(o, d)
	return d
}

func (s *source) agentName(o *object) string {
	name := o.Text("name")
	n := o.Member("name")
	if n == nil {
		base := filepath.Base(s.File)
		name, n = strings.TrimSuffix(base, filepath.Ext(base)), o.Node
	}
	if !agent.AgentName.MatchString(name) {
		s.Refuse(n, "%q is not a valid agent name; use a-z, 0-9, - and _, at most 64, beginning with a letter or digit", name)
	}
	if name == ask.Agent {
		s.Refuse(n, "%q is the built-in agent behind POST /v1/asks; give this one another name", name)
	}
	return name
}

func (s *source) tools(nodes []*yaml.Node) []agent.Tool {
	var tools []agent.Tool
	first := map[string]int{}
	for _, n := range nodes {
		t := s.tool(n)
		if line, twice := first[t.Name]; twice && t.Name != "" {
			s.Refuse(n, "tool %q is also on line %d; rename or remove one", t.Name, line)
		} else {
			first[t.Name] = n.Line
		}
		tools = append(tools, t)
	}
	return tools
}

func (s *source) tool(n *yaml.Node) agent.Tool {
	o, ok := s.Object(n, "a tool")
	if !ok {
		return agent.Tool{}
	}
	defer o.Close()
	t := agent.Tool{
		Name:        o.Text("name"),
		Description: o.Text("description"),
		Go:          o.Text("go"),
		HTTP:        s.http(o.Take("http")),
		Lambda:      s.lambda(o.Take("lambda")),
		MCP:         s.mcp(o.Take("mcp")),
		Agent:       s.callee(o),
		Client:      o.Flag("client"),
		Recorded:    s.answers(o.List("recorded")),
		Parameters:  s.parameters(o.Take("parameters")),
		Idempotent:  o.Flag("idempotent"),
		ReadOnly:    o.Flag("read_only"),
		Deadline:    s.deadline(o.Take("deadline"), "deadline"),
		Title:       o.Text("title"),
		Preview:     s.preview(o.Take("preview")),
	}
	if result := o.Take("result"); t.Agent != nil {
		t.Agent.Final = s.ending(result, t.Agent.Kind())
	} else {
		t.Result = s.result(result)
	}
	if word := o.One("delivery", core.AtLeastOnce.String(), core.AtMostOnce.String()); word != "" {
		_ = t.Delivery.UnmarshalText([]byte(word)) // one of the two
	}
	if !agent.ToolName.MatchString(t.Name) {
		s.Refuse(n, "%q is not a valid tool name; use letters, digits, - and _, at most 64", t.Name)
	}
	if t.Name == core.FinishTool {
		s.Refuse(n, "%q is the built-in tool that ends a run; give this one another name", t.Name)
	}
	s.checkBody(n, o, t)
	if t.HTTP != nil {
		s.finishHTTP(o, &t)
	}
	if t.Remote() != "" {
		s.finishRemote(o, &t)
	}
	if t.Agent != nil {
		s.finishCallee(o, &t)
	}
	return t
}

// checkBody checks that the tool has one implementation, and only the members that go with it.
func (s *source) checkBody(n *yaml.Node, o *object, t agent.Tool) {
	const one = "needs exactly one of go, http, lambda, mcp, agent, a2a, client: true and recorded"
	var bodies []string
	for _, body := range []string{"go", "http", "lambda", "mcp", "agent", "a2a", "client", "recorded"} {
		if o.Member(body) != nil && (body != "client" || t.Client) && (body != "go" || t.Go != "") {
			bodies = append(bodies, body)
		}
	}
	switch {
	case len(bodies) == 0:
		s.Refuse(n, "tool %q "+one, t.Name)
	case len(bodies) > 1:
		s.Refuse(n, "tool %q has %s; it "+one, t.Name, strings.Join(bodies, " and "))
	case o.Member("recorded") != nil && len(t.Recorded) == 0:
		s.Refuse(n, "tool %q has no recorded answers; give at least one", t.Name)
	case t.Go != "" && t.Parameters != nil:
		s.Refuse(o.Member("parameters"), "the parameters of a Go function come from the function; remove them here")
	case t.Result != nil && !t.Client:
		s.Refuse(o.Member("result"), "only client tools and tools with agent or a2a have a result; remove it from tool %q", t.Name)
	case t.Client && (t.Delivery != core.DeliveryDefault || t.Idempotent):
		s.Refuse(n, "a client tool is run by the caller; remove delivery and idempotent")
	case o.Member("agent") != nil && (o.Member("delivery") != nil || o.Member("idempotent") != nil):
		s.Refuse(n, "a call of tool %q starts one run of an agent, also after a crash; remove delivery and idempotent", t.Name)
	case t.Idempotent && t.Delivery == core.AtMostOnce:
		s.Refuse(n, "tool %q cannot be idempotent and at_most_once; remove one", t.Name)
	}
}

func (s *source) parameters(n *yaml.Node) json.RawMessage {
	if n == nil {
		return nil
	}
	raw := s.value(n)
	if _, err := agent.Compile(raw); err != nil {
		s.Refuse(n, "parameters: %v", err)
		return raw
	}
	s.emptyParts(n)
	return raw
}

// emptyParts refuses empty members of the schema: their author meant to write more.
func (s *source) emptyParts(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		s.Refuse(n, "parameters is %s; write it as a mapping, {type: object} if there are none", strictyaml.KindOf(n))
		return
	}
	for _, name := range []string{"properties", "required", "additionalProperties"} {
		if at := memberOf(n, name); at.Line > 0 && at.ShortTag() == "!!null" {
			s.Refuse(at, "%s in parameters is empty; fill it, or remove it", name)
		}
	}
	for _, item := range memberOf(n, "required").Content {
		if item.ShortTag() != "!!str" {
			s.Refuse(item, "required in parameters must be a list of names, and one is %s; put it in quotes, or remove it", strictyaml.KindOf(item))
		}
	}
}

func (s *source) answers(nodes []*yaml.Node) []agent.Answer {
	var answers []agent.Answer
	for _, n := range nodes {
		if o, ok := s.Object(n, "a recorded answer"); ok {
			answers = append(answers, s.answer(o))
		}
	}
	return answers
}

func (s *source) answer(o *object) agent.Answer {
	defer o.Close()
	var a agent.Answer
	if when := o.Take("when"); when != nil {
		if members, ok := s.Object(when, "when"); ok {
			a.When = map[string]json.RawMessage{}
			for _, key := range members.Keys {
				a.When[key.Value] = s.value(members.Take(key.Value))
			}
		}
	}
	if result := o.Take("result"); result != nil {
		a.Result = s.value(result)
	}
	a.Error = o.Text("error")
	if (a.Result != nil) == (a.Error != "") {
		s.Refuse(o.Node, "a recorded answer needs exactly one of result and error")
	}
	return a
}

// exclusive refuses client tools that need an approval, since the caller runs them anyway, and
// results set in advance for tools that may need one.
func (s *source) exclusive(d agent.Definition, nodes []*yaml.Node) {
	for i, t := range d.Tools {
		if rule, gated := d.Permissions.AsksFor(d.Subject(t.Name)); gated && t.Client {
			s.Refuse(nodes[i], "the rule %[2]q asks for approval of client tool %[1]q, which the caller runs; name the tool under allow, or narrow the rule", t.Name, cmp.Or(rule.Target, rule.Tool))
		}
		if t.Deadline != nil && t.Deadline.Outcome == core.DeadlineResult && d.MayAsk(t) {
			s.Refuse(nodes[i], "tool %q may wait for an approval, and a deadline cannot approve; use then: fail or cancel, or allow the tool", t.Name)
		}
	}
}

// aimless refuses asks and allows of a tool that the agent does not have: with a typo in an ask,
// another rule could allow the tool that was meant. Denies may name such tools, since they also
// count for suspended runs, whose version may have them.
func (s *source) aimless(d agent.Definition, permissions *yaml.Node) {
	for list, rules := range map[string][]agent.Rule{"ask": d.Permissions.Ask, "allow": d.Permissions.Allow} {
		for i, r := range rules {
			switch n := memberOf(permissions, list); {
			case r.Tool == core.FinishTool && d.Finish != nil:
				s.Refuse(n.Content[i], "%s is always allowed; remove the rule", r.Tool)
			case agent.ToolName.MatchString(r.Tool) && !d.Has(r.Tool):
				s.Refuse(n.Content[i], "the agent has no tool %q; name one that is listed under tools", r.Tool)
			case r.Target != "" && !d.Reaches(r):
				s.Refuse(n.Content[i], "no tool of the agent goes to the target %q; correct it, or remove the rule", r.Target)
			}
		}
	}
}

// memberOf is a member of a mapping that is known to have it.
func memberOf(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return &yaml.Node{}
}

// expression reports a regular expression that does not compile, and returns the names of its
// groups.
func (s *source) expression(n *yaml.Node, text string) []string {
	re, err := regexp.Compile(text)
	if err != nil {
		s.Refuse(n, "not a regular expression: %v", err)
		return nil
	}
	return re.SubexpNames()
}
