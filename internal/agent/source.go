package agent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// problem is one thing that is wrong with a file, and what to do about it.
type problem struct {
	file string
	line int
	text string
}

func (p problem) Error() string { return NewProblem(p.file, p.line, p.text).String() }

// source is a YAML document being read. It collects everything that is wrong, so that one look shows all of it.
type source struct {
	file     string
	layer    bool // it holds permissions beside those of an agent
	problems []problem
}

func (s *source) refuse(n *yaml.Node, format string, args ...any) {
	s.refuseLine(max(n.Line, 1), format, args...)
}

func (s *source) refuseLine(line int, format string, args ...any) {
	s.problems = append(s.problems, problem{s.file, line, fmt.Sprintf(format, args...)})
}

// err joins the problems, in the order of their lines.
func (s *source) err() error {
	slices.SortStableFunc(s.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	errs := make([]error, len(s.problems))
	for i, p := range s.problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// document reads the one YAML document of the file; nil if there is not exactly one.
func (s *source) document(text []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case err == io.EOF, err == nil && len(doc.Content) == 0:
		s.refuseLine(1, "the file is empty; fill it, or remove it")
		return nil
	case err != nil:
		s.syntax(err)
		return nil
	}
	switch err := dec.Decode(&second); {
	case err == io.EOF:
	case err != nil:
		s.syntax(err)
		return nil
	default:
		s.refuse(&second, "a second document begins here; give each a file of its own")
		return nil
	}
	return doc.Content[0]
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// syntax reports an error of the YAML parser, whose text may begin with the line.
func (s *source) syntax(err error) {
	text := err.Error()
	found := yamlLine.FindStringSubmatch(text)
	line, _ := strconv.Atoi(found[1])
	text = text[len(found[0]):]
	if strings.Contains(text, "alphabetic or numeric") {
		text += "; a text that begins with * or & must be in quotes"
	}
	s.refuseLine(max(line, 1), "this is not YAML: %s", text)
}

// object is a mapping whose members are taken one by one; [object.close] refuses those nobody took.
type object struct {
	*source
	node    *yaml.Node
	what    string // for messages: "a tool"
	keys    []*yaml.Node
	members map[string]*yaml.Node
	taken   []string
}

// object reads n as a mapping, or reports that it is none.
func (s *source) object(n *yaml.Node, what string) (*object, bool) {
	if n.Kind != yaml.MappingNode {
		s.refuse(n, "%s is %s; write it as a mapping of fields", what, kindOf(n))
		return nil, false
	}
	o := &object{source: s, node: n, what: what, members: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if first, twice := o.members[key.Value]; twice {
			s.refuse(key, "%q is given twice, first near line %d; keep one", key.Value, first.Line)
			continue
		}
		o.keys, o.members[key.Value] = append(o.keys, key), value
	}
	return o, true
}

// take returns a member's value, nil if it is not there.
func (o *object) take(name string) *yaml.Node {
	o.taken = append(o.taken, name)
	return o.members[name]
}

func (o *object) close() {
	for _, key := range o.keys {
		if key.Kind != yaml.ScalarNode || !slices.Contains(o.taken, key.Value) {
			o.refuse(key, "unknown field %q in %s; it takes %s", key.Value, o.what, strings.Join(o.taken, ", "))
		}
	}
}

// text takes a member that is a string; empty if it is absent.
func (o *object) text(name string) string {
	n := o.take(name)
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		o.refuse(n, "%s must be text, not %s; put it in quotes", name, kindOf(n))
		return ""
	}
	return n.Value
}

// flag takes a member that is true or false; false if it is absent.
func (o *object) flag(name string) bool {
	n := o.take(name)
	if n == nil {
		return false
	}
	var is bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&is) != nil {
		o.refuse(n, "%s must be true or false, not %s", name, kindOf(n))
	}
	return is
}

// list takes a member that is a list; nil if it is absent.
func (o *object) list(name string) []*yaml.Node {
	n := o.take(name)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.refuse(n, "%s must be a list, not %s", name, kindOf(n))
		return nil
	}
	return n.Content
}

// one takes a member that is one of the words; empty if it is absent or none of them.
func (o *object) one(name string, words ...string) string {
	word := o.text(name)
	if n := o.members[name]; n != nil && n.ShortTag() == "!!str" && !slices.Contains(words, word) {
		o.refuse(n, "%s cannot be %q; it is one of %s", name, word, strings.Join(words, ", "))
		return ""
	}
	return word
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias (they are not read; write the value out)"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	}
	return "text"
}
