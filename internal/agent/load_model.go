package agent

import (
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func (s *source) model(agent *object, read func(string) ([]byte, error)) Model {
	n := agent.take("model")
	if n == nil {
		s.refuse(agent.node, "the agent has no model; add model with a provider, %s or %s", ProviderScripted, ProviderRecorded)
		return Model{}
	}
	o, ok := s.object(n, "model")
	if !ok {
		return Model{}
	}
	defer o.close()
	provider := o.one("provider", ProviderScripted, ProviderRecorded)
	turns, script, file := o.list("turns"), o.text("script"), o.text("file")
	switch {
	case o.members["provider"] == nil:
		s.refuse(n, "model needs a provider, %s or %s", ProviderScripted, ProviderRecorded)
	case provider == ProviderScripted && file != "":
		s.refuse(o.members["file"], "file belongs to the provider recorded; a script is named by script")
	case provider == ProviderScripted:
		return Model{Provider: provider, Turns: s.script(o, turns, script, read)}
	case provider == ProviderRecorded && (turns != nil || script != ""):
		s.refuse(n, "turns and script belong to the provider scripted; a recording is named by file")
	case provider == ProviderRecorded && file == "":
		s.refuse(n, "model needs a file: the recording, relative to this file")
	case provider == ProviderRecorded:
		return Model{Provider: provider, File: file, SHA256: s.digest(o.members["file"], file, read)}
	}
	return Model{}
}

func (s *source) digest(n *yaml.Node, file string, read func(string) ([]byte, error)) string {
	content, err := readBeside(file, read)
	if err != nil {
		s.refuse(n, "the recording %s cannot be read: %v", file, err)
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

// script reads the turns, which stand in the agent or in a file of their own.
func (s *source) script(model *object, turns []*yaml.Node, script string, read func(string) ([]byte, error)) []Turn {
	inline := model.members["turns"] != nil
	switch {
	case inline && script != "" || !inline && script == "":
		s.refuse(model.node, "a scripted model needs exactly one of turns and script")
		return nil
	case inline:
		return s.turns(model.members["turns"], turns)
	}
	text, err := readBeside(script, read)
	if err != nil {
		s.refuse(model.members["script"], "the script %s cannot be read: %v", script, err)
		return nil
	}
	return s.scriptFile(script, text)
}

// scriptFile reads turns from a file: a list, or a mapping whose one member turns is a list. What is wrong there is reported
// with the name of that file.
func (s *source) scriptFile(script string, text []byte) []Turn {
	file := &source{file: filepath.Join(filepath.Dir(s.file), filepath.FromSlash(script))}
	defer func() { s.problems = append(s.problems, file.problems...) }()
	root := file.document(text)
	if root == nil {
		return nil
	}
	if root.Kind == yaml.SequenceNode {
		return file.turns(root, root.Content)
	}
	o, ok := file.object(root, "a script")
	if !ok {
		return nil
	}
	defer o.close()
	return file.turns(root, o.list("turns"))
}

func (s *source) turns(n *yaml.Node, nodes []*yaml.Node) []Turn {
	if len(nodes) == 0 {
		s.refuse(n, "the script has no turns; give at least one")
	}
	var turns []Turn
	for _, node := range nodes {
		if o, ok := s.object(node, "a turn"); ok {
			turns = append(turns, s.turn(o))
		}
	}
	return turns
}

func (s *source) turn(o *object) Turn {
	defer o.close()
	given, names := s.given(o.take("given"))
	t := Turn{Given: given, Say: o.text("say")}
	for _, n := range o.list("calls") {
		if c, ok := s.object(n, "a call"); ok {
			t.Calls = append(t.Calls, s.call(c, names))
		}
	}
	s.checkPlaceholders(o.members["say"], t.Say, names)
	if t.Say == "" && len(t.Calls) == 0 {
		s.refuse(o.node, "the turn answers nothing; give say, calls or both")
	}
	return t
}

// given reads the conditions of a turn, and returns the names of their groups with them.
func (s *source) given(n *yaml.Node) (Given, []string) {
	if n == nil {
		return Given{}, nil
	}
	o, ok := s.object(n, "given")
	if !ok {
		return Given{}, nil
	}
	defer o.close()
	g := Given{User: o.text("user"), Tool: o.text("tool"), Result: o.text("result"), NoResult: o.flag("no_result")}
	if step := o.take("step"); step != nil {
		count, err := strconv.ParseUint(step.Value, 10, 31)
		if step.ShortTag() != "!!int" || err != nil || count < 1 {
			s.refuse(step, "step must be a number from 1 to %d", math.MaxInt32)
		}
		g.Step = int(count)
	}
	if g.NoResult && (g.Tool != "" || g.Result != "") {
		s.refuse(n, "no_result cannot hold together with tool or result; remove one")
	}
	names := s.expression(n, g.User)
	return g, append(names, s.expression(n, g.Result)...)
}

func (s *source) call(o *object, names []string) ScriptCall {
	defer o.close()
	c := ScriptCall{Tool: o.text("tool"), ID: o.text("id")}
	if !toolName.MatchString(c.Tool) {
		s.refuse(o.node, "a call needs a tool: the name of the one to call")
	}
	if args := o.take("arguments"); args != nil {
		if args.Kind != yaml.MappingNode {
			s.refuse(args, "arguments must be a mapping, not %s", kindOf(args))
			return c
		}
		c.Arguments = s.value(args)
		s.checkPlaceholders(args, string(c.Arguments), names)
	}
	return c
}

// Placeholder matches ${name}, which stands for what the group of that name matched.
var Placeholder = regexp.MustCompile(`\$\{([a-zA-Z_][a-zA-Z0-9_]*)\}`)

func (s *source) checkPlaceholders(n *yaml.Node, text string, names []string) {
	for _, found := range Placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, found[1]) {
			s.refuse(n, "%s has no group of that name in given; write (?P<%s>...) in user or result", found[0], found[1])
		}
	}
}
