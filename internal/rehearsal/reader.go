package rehearsal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// reader collects everything that is wrong with a file, so that one look shows all of it.
type reader struct {
	file     string
	problems []agent.Problem
}

func (r *reader) refuse(n *yaml.Node, format string, args ...any) {
	r.refuseLine(max(n.Line, 1), format, args...)
}

func (r *reader) refuseLine(line int, format string, args ...any) {
	r.problems = append(r.problems, agent.NewProblem(r.file, line, fmt.Sprintf(format, args...)))
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// document reads the one YAML document of the file; nil if there is not exactly one.
func (r *reader) document(text []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if err == nil && len(doc.Content) > 0 {
		if err = dec.Decode(&second); errors.Is(err, io.EOF) {
			return doc.Content[0]
		}
		if err == nil {
			r.refuse(&second, "a second document begins here; give each a file of its own")
			return nil
		}
	}
	if err == nil || errors.Is(err, io.EOF) {
		r.refuseLine(1, "the file is empty; fill it, or remove it")
		return nil
	}
	found := yamlLine.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(found[1]) // 0 if it names none
	r.refuseLine(max(line, 1), "this is not YAML: %s", err.Error()[len(found[0]):])
	return nil
}

// object is a mapping whose members are taken one by one; [object.close] refuses those nobody took.
type object struct {
	*reader
	what    string
	keys    []*yaml.Node
	members map[string]*yaml.Node
	taken   []string
}

func (r *reader) object(n *yaml.Node, what string) (*object, bool) {
	if n.Kind != yaml.MappingNode {
		r.refuse(n, "%s is not a mapping; write it as name: value", what)
		return nil, false
	}
	o := &object{reader: r, what: what, members: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if o.members[key.Value] != nil {
			r.refuse(key, "%q is given twice; keep one", key.Value)
			continue
		}
		o.keys, o.members[key.Value] = append(o.keys, key), n.Content[i+1]
	}
	return o, true
}

func (o *object) take(name string) *yaml.Node {
	o.taken = append(o.taken, name)
	return o.members[name]
}

func (o *object) close() {
	for _, key := range o.keys {
		if !slices.Contains(o.taken, key.Value) {
			o.refuse(key, "unknown field %q in %s; it takes %s", key.Value, o.what, strings.Join(o.taken, ", "))
		}
	}
}

func (o *object) text(name string) string {
	n := o.take(name)
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		o.refuse(n, "%s must be text; put it in quotes", name)
		return ""
	}
	return n.Value
}

func (o *object) flag(name string) bool {
	n := o.take(name)
	var is bool
	if n != nil && (n.ShortTag() != "!!bool" || n.Decode(&is) != nil) {
		o.refuse(n, "%s must be true or false", name)
	}
	return is
}

func (o *object) list(name string) []*yaml.Node {
	n := o.take(name)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.refuse(n, "%s must be a list; begin each item with a dash", name)
		return nil
	}
	return n.Content
}

func (o *object) one(name string, words ...string) string {
	word := o.text(name)
	if n := o.members[name]; n != nil && word != "" && !slices.Contains(words, word) {
		o.refuse(n, "%s cannot be %q; it is one of %s", name, word, strings.Join(words, ", "))
	}
	return word
}

func (o *object) value(name string) *Value {
	n := o.take(name)
	if n == nil {
		return nil
	}
	v, err := newValue(n)
	if err != nil {
		o.refuse(n, "%s: %v", name, err)
	}
	return v
}
