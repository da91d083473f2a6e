package agentfile

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

func (s *source) model(top *object, read func(string) ([]byte, error)) agent.Model {
	n := top.Take("model")
	if n == nil {
		s.Refuse(top.Node, "the agent has no model; add model with a provider: %s", allProviders)
		return agent.Model{}
	}
	o, ok := s.Object(n, "model")
	if !ok {
		return agent.Model{}
	}
	defer o.Close()
	provider := o.One("provider", form.Providers...)
	turns, script, file := o.List("turns"), o.Text("script"), o.Text("file")
	pace := s.pace(o.Take("pace"))
	price := s.price(o.Take("price"))
	called := s.called(o, provider)
	called.Price = price
	s.foreign(o, provider)
	switch {
	case o.Member("provider") == nil:
		s.Refuse(n, "model needs a provider: %s", allProviders)
	case provider == agent.ProviderScripted:
		m := s.scriptedModel(o, turns, script, file, read)
		m.Pace, m.Price = pace, price
		return m
	case provider == agent.ProviderRecorded:
		m := s.recordedModel(o, turns, script, file, read)
		m.Price = price
		return m
	case provider != "":
		s.checkCalled(o, called)
		return called
	}
	return agent.Model{}
}

func (s *source) scriptedModel(o *object, turns []*yaml.Node, script, file string, read func(string) ([]byte, error)) agent.Model {
	if file != "" {
		s.Refuse(o.Member("file"), "file belongs to the provider recorded; name the script with script")
		return agent.Model{}
	}
	return agent.Model{Provider: agent.ProviderScripted, Turns: s.script(o, turns, script, read)}
}

// slowest bounds the pause, so that a long scripted answer fits into a step.
const slowest = time.Second

func (s *source) pace(n *yaml.Node) int64 {
	if n == nil {
		return 0
	}
	pace := s.within(n, "pace")
	if pace > slowest.Milliseconds() {
		s.Refuse(n, "pace may be at most %s", slowest)
	}
	return pace
}

func (s *source) recordedModel(o *object, turns []*yaml.Node, script, file string, read func(string) ([]byte, error)) agent.Model {
	switch {
	case turns != nil || script != "":
		s.Refuse(o.Node, "turns and script belong to the provider scripted; name the recording with file")
	case file == "":
		s.Refuse(o.Node, "model needs a file: the recording, relative to this file")
	default:
		return agent.Model{Provider: agent.ProviderRecorded, File: file, SHA256: s.digest(o.Member("file"), file, read)}
	}
	return agent.Model{}
}

func (s *source) digest(n *yaml.Node, file string, read func(string) ([]byte, error)) string {
	content, err := readBeside(file, read)
	if err != nil {
		s.Refuse(n, "the recording %s cannot be read: %v", file, err)
		return ""
	}
	return core.Digest(content)
}

// readBeside reads a file that an agent names.
func readBeside(file string, read func(string) ([]byte, error)) ([]byte, error) {
	if filepath.IsAbs(file) {
		return nil, errors.New("name it relative to this file")
	}
	if read == nil {
		return nil, errors.New("no files can be read here")
	}
	return read(filepath.FromSlash(file))
}

// script reads the turns, from the agent file or from a separate file.
func (s *source) script(model *object, turns []*yaml.Node, script string, read func(string) ([]byte, error)) []agent.Turn {
	inline := model.Member("turns") != nil
	switch {
	case inline && script != "" || !inline && script == "":
		s.Refuse(model.Node, "a scripted model needs exactly one of turns and script")
		return nil
	case inline:
		return s.turns(model.Member("turns"), turns)
	}
	text, err := readBeside(script, read)
	if err != nil {
		s.Refuse(model.Member("script"), "the script %s cannot be read: %v", script, err)
		return nil
	}
	return s.scriptFile(script, text)
}

// scriptFile reads turns from a file: a list, or a mapping with the single member turns. Problems
// are reported with the name of that file.
func (s *source) scriptFile(script string, text []byte) []agent.Turn {
	file := newSource(filepath.Join(filepath.Dir(s.File), filepath.FromSlash(script)))
	defer func() { s.Problems = append(s.Problems, file.Problems...) }()
	root := file.Document(text)
	if root == nil {
		return nil
	}
	if root.Kind == yaml.SequenceNode {
		return file.turns(root, root.Content)
	}
	o, ok := file.Object(root, "a script")
	if !ok {
		return nil
	}
	defer o.Close()
	return file.turns(root, o.List("turns"))
}

func (s *source) turns(n *yaml.Node, nodes []*yaml.Node) []agent.Turn {
	if len(nodes) == 0 {
		s.Refuse(n, "the script has no turns; give at least one")
	}
	var turns []agent.Turn
	for _, node := range nodes {
		if o, ok := s.Object(node, "a turn"); ok {
			turns = append(turns, s.turn(o))
		}
	}
	return turns
}

func (s *source) turn(o *object) agent.Turn {
	defer o.Close()
	given, names := s.given(o.Take("given"))
	t := agent.Turn{Given: given, Say: o.Text("say")}
	for _, n := range o.List("calls") {
		if c, ok := s.Object(n, "a call"); ok {
			t.Calls = append(t.Calls, s.call(c, names))
		}
	}
	s.checkPlaceholders(o.Member("say"), t.Say, names)
	if t.Say == "" && len(t.Calls) == 0 {
		s.Refuse(o.Node, "the turn is empty; add say, calls or both")
	}
	return t
}

// given reads the conditions of a turn, and returns the names of their groups with them.
func (s *source) given(n *yaml.Node) (agent.Given, []string) {
	if n == nil {
		return agent.Given{}, nil
	}
	o, ok := s.Object(n, "given")
	if !ok {
		return agent.Given{}, nil
	}
	defer o.Close()
	g := agent.Given{User: o.Text("user"), Tool: o.Text("tool"), Result: o.Text("result"), NoResult: o.Flag("no_result")}
	if step := o.Take("step"); step != nil {
		count, err := strconv.ParseUint(step.Value, 10, 31)
		if step.ShortTag() != "!!int" || err != nil || count < 1 {
			s.Refuse(step, "step must be a number from 1 to %d", math.MaxInt32)
		}
		g.Step = int(count)
	}
	if g.NoResult && (g.Tool != "" || g.Result != "") {
		s.Refuse(n, "no_result excludes tool and result; remove one")
	}
	names := s.expression(n, g.User)
	return g, append(names, s.expression(n, g.Result)...)
}

func (s *source) call(o *object, names []string) agent.ScriptCall {
	defer o.Close()
	c := agent.ScriptCall{Tool: o.Text("tool"), ID: o.Text("id")}
	if !agent.ToolName.MatchString(c.Tool) {
		s.Refuse(o.Node, "a call needs a tool: the name of the one to call")
	}
	if args := o.Take("arguments"); args != nil {
		if args.Kind != yaml.MappingNode {
			s.Refuse(args, "arguments must be a mapping, not %s", strictyaml.KindOf(args))
			return c
		}
		c.Arguments = s.value(args)
		s.checkPlaceholders(args, string(c.Arguments), names)
	}
	return c
}

// Placeholder matches ${name}, which is replaced by the match of the group of that name.
var Placeholder = lazyregexp.New(`\$\{([a-zA-Z_][a-zA-Z0-9_]*)\}`)

func (s *source) checkPlaceholders(n *yaml.Node, text string, names []string) {
	for _, found := range Placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, found[1]) {
			s.Refuse(n, "%s has no group of that name in given; write (?P<%s>...) in user or result", found[0], found[1])
		}
	}
}
