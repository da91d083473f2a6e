package agentfile

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// extras reads finish, hooks, memory and effects. The tools of d must have been read.
func (s *source) extras(o *object, d *agent.Definition) {
	d.Finish = s.finish(o.Take("finish"))
	d.Hooks = s.names(o, "hooks")
	d.Memory = o.Text("memory")
	if n := o.Member("memory"); n != nil && n.Kind == yaml.ScalarNode && n.Value == "" {
		s.Refuse(n, "memory is empty; name a memory, or remove it")
	}
	seen := map[string]bool{}
	for _, n := range o.List("effects") {
		if e, ok := s.Object(n, "an effect"); ok {
			effect := s.effect(e, *d)
			if seen[effect.Name] {
				s.Refuse(n, "the effect %q is defined twice; rename or remove one", effect.Name)
			}
			seen[effect.Name] = true
			d.Effects = append(d.Effects, effect)
		}
	}
}

// finish reads true, false, or a mapping with the schema of the output.
func (s *source) finish(n *yaml.Node) *agent.Finish {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		var on bool
		if n.ShortTag() != "!!bool" || n.Decode(&on) != nil {
			s.Refuse(n, "finish must be true, false, or a mapping with output, not %s", strictyaml.KindOf(n))
		}
		if !on {
			return nil
		}
		return &agent.Finish{}
	}
	o, ok := s.Object(n, "finish")
	if !ok {
		return nil
	}
	defer o.Close()
	var f agent.Finish
	if output := o.Take("output"); output != nil {
		f.Output = s.value(output)
		if err := f.Check(); err != nil {
			s.Refuse(output, "output: %v", err)
		}
	}
	return &f
}

// effect reads an effect, which has exactly one of go, command and detect.
func (s *source) effect(o *object, d agent.Definition) agent.Effect {
	defer o.Close()
	e := agent.Effect{
		Name: o.Text("name"), Tools: s.names(o, "tools"), Go: o.Text("go"),
		Command: s.words(o, "command"), Workspace: o.Text("workspace"), Paths: o.Text("paths"), Detect: s.detect(o),
	}
	if e.Name == "" {
		s.Refuse(o.Node, "an effect needs a name")
	}
	ways := 0
	for _, there := range []bool{e.Go != "", len(e.Command) > 0, len(e.Detect) > 0} {
		if there {
			ways++
		}
	}
	if ways != 1 {
		s.Refuse(o.Node, "the effect %q needs exactly one of go, command and detect", e.Name)
	}
	if e.Go == "" && ways == 1 && e.Workspace == "" { // it would silently never run
		s.Refuse(o.Node, "the effect %q needs a workspace: the directory it runs in", e.Name)
	}
	if e.Go != "" && (e.Workspace != "" || e.Paths != "") {
		s.Refuse(o.Node, "workspace and paths belong to a command; remove them from the effect %q", e.Name)
	}
	if len(e.Detect) > 0 && e.Paths != "" {
		s.Refuse(o.Node, "a detected command runs on the whole workspace; remove paths from the effect %q", e.Name)
	}
	s.checkAim(o, e, d)
	return e
}

// detect reads the kinds of commands to detect.
func (s *source) detect(o *object) []string {
	kinds := s.names(o, "detect")
	for i, kind := range kinds {
		if kind != agent.DetectFormat && kind != agent.DetectLint {
			s.Refuse(o.Member("detect").Content[i], "detect: %q is not known; it is %s or %s", kind, agent.DetectFormat, agent.DetectLint)
		}
	}
	return kinds
}

func (s *source) checkAim(o *object, e agent.Effect, d agent.Definition) {
	if len(e.Tools) == 0 {
		s.Refuse(o.Node, "the effect %q needs tools: the ones it follows", e.Name)
	}
	for _, name := range e.Tools {
		switch {
		case !agent.ToolGlob.MatchString(name):
			s.checkPattern(o.Member("tools"), agent.Rule{Tool: name})
		case agent.ToolName.MatchString(name) && !d.Has(name):
			s.Refuse(o.Member("tools"), "the agent has no tool %q; name one that is listed under tools", name)
		}
	}
}

// names reads a list of texts without empty ones and duplicates.
func (s *source) names(o *object, member string) []string {
	names := s.words(o, member)
	for i, name := range names {
		if name == "" || slices.Contains(names[:i], name) {
			s.Refuse(o.Member(member).Content[i], "%s: %q is empty or a duplicate; remove it", member, name)
		}
	}
	return names
}

// words reads a list of texts.
func (s *source) words(o *object, member string) []string {
	var words []string
	for _, n := range o.List(member) {
		words = append(words, s.plainText(n, member))
	}
	return words
}
