// Package strictyaml reads YAML files that people write, field by field: it rejects everything that
// it does not understand, with its line, and collects all errors, so that an author sees them at
// once. It knows the form of YAML and not the purpose of a file.
package strictyaml

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Problem is one error in a file, with its remedy.
type Problem struct {
	File string
	Line int
	Text string
}

// Reader reads a file and collects its errors.
type Reader struct {
	File     string
	Problems []Problem // in the order in which they were found
}

// Refuse records a problem at a node.
func (r *Reader) Refuse(n *yaml.Node, format string, args ...any) {
	r.RefuseLine(max(n.Line, 1), format, args...)
}

// RefuseLine records a problem at a line.
func (r *Reader) RefuseLine(line int, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{r.File, line, fmt.Sprintf(format, args...)})
}

// Document parses the single YAML document of the file; it returns nil if there is not exactly one.
func (r *Reader) Document(text []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case err == io.EOF, err == nil && len(doc.Content) == 0:
		r.RefuseLine(1, "the file is empty; add content or remove it")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := dec.Decode(&second); {
	case err == io.EOF:
	case err != nil:
		r.syntax(err)
		return nil
	default:
		r.Refuse(&second, "a second document begins here; use a separate file for each")
		return nil
	}
	return doc.Content[0]
}

var yamlLine = lazyregexp.New(`^(?:yaml: )?(?:line (\d+): )?`)

// syntax records an error of the YAML parser, whose text may begin with the line.
func (r *Reader) syntax(err error) {
	text := err.Error()
	found := yamlLine.FindStringSubmatch(text)
	line, _ := strconv.Atoi(found[1])
	text = text[len(found[0]):]
	if strings.Contains(text, "alphabetic or numeric") {
		text += "; a text that begins with * or & must be in quotes"
	}
	r.RefuseLine(max(line, 1), "this is not YAML: %s", text)
}

// Object is a mapping whose members are taken one by one; [Object.Close] rejects the rest.
type Object struct {
	*Reader
	Node    *yaml.Node
	what    string       // for messages: "a tool"
	Keys    []*yaml.Node // of its members, in order
	members map[string]*yaml.Node
	taken   []string
}

// Object reads n as a mapping, or records that it is not one.
func (r *Reader) Object(n *yaml.Node, what string) (*Object, bool) {
	if n.Kind != yaml.MappingNode {
		r.Refuse(n, "%s is %s; write it as a mapping of fields", what, KindOf(n))
		return nil, false
	}
	o := &Object{Reader: r, Node: n, what: what, members: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if first, twice := o.members[key.Value]; twice {
			r.Refuse(key, "%q is given twice, first near line %d; keep one", key.Value, first.Line)
			continue
		}
		o.Keys, o.members[key.Value] = append(o.Keys, key), value
	}
	return o, true
}

// Take returns a member's value, or nil if it is absent.
func (o *Object) Take(name string) *yaml.Node {
	o.taken = append(o.taken, name)
	return o.members[name]
}

// Member returns a member's value, taken or not, or nil if it is absent.
func (o *Object) Member(name string) *yaml.Node { return o.members[name] }

// Close rejects the members that were not taken.
func (o *Object) Close() {
	for _, key := range o.Keys {
		if key.Kind != yaml.ScalarNode || !slices.Contains(o.taken, key.Value) {
			o.Refuse(key, "unknown field %q in %s; it takes %s", key.Value, o.what, strings.Join(o.taken, ", "))
		}
	}
}

// Text takes a string member; empty if it is absent.
func (o *Object) Text(name string) string {
	n := o.Take(name)
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		o.Refuse(n, "%s must be text, not %s; put it in quotes", name, KindOf(n))
		return ""
	}
	return n.Value
}

// Flag takes a boolean member; false if it is absent.
func (o *Object) Flag(name string) bool {
	n := o.Take(name)
	if n == nil {
		return false
	}
	var is bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&is) != nil {
		o.Refuse(n, "%s must be true or false, not %s", name, KindOf(n))
	}
	return is
}

// List takes a list member; nil if it is absent.
func (o *Object) List(name string) []*yaml.Node {
	n := o.Take(name)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.Refuse(n, "%s must be a list, not %s", name, KindOf(n))
		return nil
	}
	return n.Content
}

// One takes a member that must be one of the words; empty if it is absent or not one of them.
func (o *Object) One(name string, words ...string) string {
	word := o.Text(name)
	if n := o.members[name]; n != nil && n.ShortTag() == "!!str" && !slices.Contains(words, word) {
		o.Refuse(n, "%s cannot be %q; it is one of %s", name, word, strings.Join(words, ", "))
		return ""
	}
	return word
}

// KindOf names the type of a node, for messages.
func KindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias (aliases are not supported; write the value itself)"
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
