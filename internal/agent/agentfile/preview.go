package agentfile

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// preview reads what approvers see of a call: a text, or a read-only tool to call.
func (s *source) preview(n *yaml.Node) *agent.Preview {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		p := &agent.Preview{Template: s.plainText(n, "preview")}
		if n.ShortTag() == "!!str" && strings.TrimSpace(p.Template) == "" {
			s.Refuse(n, "preview is empty; write a text with {argument} in it, or remove it")
		}
		return p
	}
	o, ok := s.Object(n, "preview")
	if !ok {
		return nil
	}
	defer o.Close()
	p := &agent.Preview{Tool: o.Text("tool"), Arguments: s.texts(o.Take("arguments"), "arguments")}
	if p.Tool == "" {
		s.Refuse(n, "preview needs a tool, or a text with {argument} in it")
	}
	return p
}

// previews checks previews against the arguments of their tools and against the tools they call,
// since these run before any approval.
func (s *source) previews(d agent.Definition, tools []*yaml.Node) {
	for i, t := range d.Tools {
		if t.Preview == nil {
			continue
		}
		at := memberOf(tools[i], "preview")
		if t.Preview.Tool == "" {
			s.previewText(at, t, t.Preview.Template)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(t.Preview.Arguments)) {
			s.previewText(memberOf(memberOf(at, "arguments"), name), t, t.Preview.Arguments[name])
		}
		s.readsOnly(memberOf(at, "tool"), d, t)
	}
}

// previewText checks the placeholders of a text. The parameters of a Go function are not known
// here.
func (s *source) previewText(at *yaml.Node, of agent.Tool, text string) {
	template, err := placeholder.Read(text)
	if err != nil {
		s.Refuse(at, "preview: %v", err)
		return
	}
	if len(template.Secrets()) > 0 {
		s.Refuse(at, "approvers read a preview, so it cannot hold a secret; remove {secret:%s}", template.Secrets()[0])
	}
	known, described := propertiesOf(of)
	for _, name := range template.Arguments() {
		first, _, _ := strings.Cut(name, ".")
		if described && !slices.Contains(known, name) && !slices.Contains(known, first) {
			s.Refuse(at, "%[2]s has no argument {%[1]s}; describe %[3]q under properties in its parameters, or remove it", name, of.Name, first)
		}
	}
}

func propertiesOf(t agent.Tool) (names []string, described bool) {
	schema, _ := agent.DecodeValue(t.Parameters).(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties)), t.Go == "" && t.Parameters != nil
}

// readsOnly refuses tools that a preview must not call.
func (s *source) readsOnly(at *yaml.Node, d agent.Definition, of agent.Tool) {
	t, there := d.Tool(of.Preview.Tool)
	_, refused := d.Permissions.RefusesAlways(d.Subject(t.Name))
	switch {
	case !there:
		s.Refuse(at, "the agent has no tool %q for the preview; name one that is listed under tools", of.Preview.Tool)
		return
	case t.Name == of.Name:
		s.Refuse(at, "%q cannot be its own preview, since it would run before it is approved; name a read-only tool", t.Name)
	case t.Client:
		s.Refuse(at, "%q is run by the caller and cannot make a preview; name a tool that the server runs", t.Name)
	case t.Agent != nil:
		s.Refuse(at, "%q starts a run of an agent and cannot make a preview; name a tool that answers at once", t.Name)
	case !t.ReadOnly:
		s.Refuse(at, "a preview runs before the approval, and %q may change something; set read_only: true there if it only reads, or name another tool", t.Name)
	case d.MayAsk(t):
		s.Refuse(at, "%q needs an approval itself and cannot make a preview; allow it without conditions, or name another tool", t.Name)
	case refused:
		s.Refuse(at, "%q is refused by a rule and cannot make a preview; name another tool", t.Name)
	}
	known, described := propertiesOf(t)
	for _, name := range slices.Sorted(maps.Keys(of.Preview.Arguments)) {
		if described && !slices.Contains(known, name) {
			s.Refuse(at, "%q has no argument %q; it has %s", t.Name, name, strings.Join(append(known, "no others"), ", "))
		}
	}
}
