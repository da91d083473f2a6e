package agentfile

import (
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// notify reads who is notified of the agent's runs.
func (s *source) notify(o *object) (targets []notice.Target) {
	nodes := o.List("notify")
	if n := o.Member("notify"); n != nil && n.Kind == yaml.SequenceNode && len(nodes) == 0 {
		s.Refuse(n, "notify is an empty list; name a target, or remove it")
	}
	if len(nodes) > notice.MostAgentTargets {
		s.Refuse(nodes[notice.MostAgentTargets], "notify: %d targets are too many; name at most %d", len(nodes), notice.MostAgentTargets)
	}
	first := map[string]int{}
	for _, n := range nodes {
		t := s.target(n)
		if line, twice := first[t.Name]; twice && t.Name != "" {
			s.Refuse(n, "the target %q is also on line %d; rename or remove one", t.Name, line)
		} else {
			first[t.Name] = n.Line
		}
		targets = append(targets, t)
	}
	return targets
}

// target reads one target. What is wrong with its values is said only if the file's form is right.
func (s *source) target(n *yaml.Node) (t notice.Target) {
	o, ok := s.Object(n, "a target of notify")
	if !ok {
		return t
	}
	before := len(s.Problems)
	t = notice.Target{Name: o.Text("name"), On: notice.Set{}, URL: o.Text("url"), Mail: s.words(o, "mail"), Format: notice.Format(o.Text("format")), Require: o.Text("require")}
	for _, kind := range s.words(o, "on") {
		t.On = append(t.On, notice.Kind(kind))
	}
	t.Slack = s.slack(o.Take("slack"))
	if template := o.Take("template"); template != nil {
		t.Template = s.value(template)
	}
	t.Secret, t.AllowPrivate = o.Text("secret"), o.Flag("allow_private")
	o.Close()
	s.filledIn(o, "url", "mail", "slack", "format", "template", "secret", "require")
	if len(s.Problems) == before {
		s.checkTarget(o, t)
	}
	return t
}

func (s *source) slack(n *yaml.Node) *notice.SlackChannel {
	if n == nil || len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		return nil
	}
	o, ok := s.Object(n, "a channel of slack")
	if !ok {
		return nil
	}
	defer o.Close()
	return &notice.SlackChannel{Channel: o.Text("channel"), Token: o.Text("token")}
}

// filledIn refuses members that are there and empty.
func (s *source) filledIn(o *object, names ...string) {
	for _, name := range names {
		n := o.Member(name)
		if n != nil && len(n.Content) == 0 && (n.Kind != yaml.ScalarNode || n.Value == "" || n.ShortTag() == "!!null") {
			s.Refuse(n, "%s is empty; fill it, or remove it", name)
		}
	}
}

func (s *source) checkTarget(o *object, t notice.Target) {
	if wrong, is := errors.AsType[*notice.FieldError](t.Check()); is {
		n := o.Member(wrong.Field)
		if n == nil {
			n = o.Node
		}
		s.Refuse(n, "notify: %v", wrong)
		return
	}
	if err := placeholder.Check(t.Template); len(t.Template) > 0 && err != nil {
		s.Refuse(o.Member("template"), "notify: template: %v", err)
		return
	}
	if t.URL != "" && keyForm.MatchString(t.URL) {
		s.Refuse(o.Member("url"), "notify: url contains a secret in plain text, and agent files are stored and shown; write {secret:NAME} in its place")
	}
}
