package linkpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Form has a field for each value of an answer, as its schema describes it. The fields are
// numbered, so that no name of others becomes a name of the page.
type Form struct {
	fields []field
	object bool // the answer is an object of the fields; else it is the only field
}

// field takes one value of an answer.
type field struct {
	name     string   // in the form: f0, f1 …
	path     []string // names of the members that lead to it; none if it is the whole answer
	kind     fieldKind
	required bool
	nullable bool
	within   bool // a member of an object that may be left out
	title    string
	about    string
	options  []json.RawMessage // to choose from
	schema   json.RawMessage
}

type fieldKind int

const (
	fieldJSON   fieldKind = iota // what has no field of its own is written as JSON
	fieldText                    // several lines
	fieldLine                    // one line
	fieldNumber                  // also whole numbers
	fieldChoice                  // one of the options
	fieldSome                    // any of the options
	fieldLines                   // a list of texts, each on a line
)

const (
	mostFields  = 60 // a larger answer is written as JSON
	mostOptions = 60
)

// FormOf builds the form for answers that fit a schema. ok is false if the answer is one text, or
// JSON that only a text area can take.
func FormOf(schema json.RawMessage) (f Form, ok bool) {
	n, simple := nodeOf(schema)
	switch {
	case !simple:
		return Form{}, false
	case n.kind() == "object":
		f.object = true
		f.members(n, nil, false)
	default:
		f.add(n, nil, true, false)
		if k := f.fields[0].kind; k == fieldJSON || k == fieldText || k == fieldLine {
			return Form{}, false
		}
	}
	return f, len(f.fields) > 0 && len(f.fields) <= mostFields
}

// members adds the fields of an object. The members of an object within it get fields too, and
// deeper ones are written as JSON.
func (f *Form) members(n node, path []string, optional bool) {
	for _, m := range n.members {
		inner, simple := nodeOf(m.schema)
		here := append(slices.Clone(path), m.name)
		required := slices.Contains(n.Required, m.name)
		if simple && len(path) == 0 && inner.kind() == "object" && len(inner.members) > 0 && !inner.nullable() {
			f.members(inner, here, !required)
			continue
		}
		f.add(inner, here, required, optional)
	}
	for _, name := range n.Required { // that the schema doesn't describe
		if !slices.ContainsFunc(n.members, func(m member) bool { return m.name == name }) {
			f.add(node{raw: json.RawMessage("true")}, append(slices.Clone(path), name), true, optional)
		}
	}
}

func (f *Form) add(n node, path []string, required, within bool) {
	kind, options := n.field()
	f.fields = append(f.fields, field{name: fmt.Sprintf("f%d", len(f.fields)), path: path, kind: kind, required: required, nullable: n.nullable(), within: within,
		title: n.Title, about: n.Description, options: options, schema: n.raw})
}

// node is what a form needs to know of a schema.
type node struct {
	Type        any               `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Items       json.RawMessage   `json:"items"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Format      string            `json:"format"`

	members []member
	raw     json.RawMessage
	plain   bool // it has no keyword that a field can't show
}

type member struct {
	name   string
	schema json.RawMessage
}

// composed are the keywords of schemas that no single field can show.
var composed = []string{"$ref", "$dynamicRef", "oneOf", "anyOf", "allOf", "not", "if", "patternProperties", "prefixItems", "propertyNames"}

// nodeOf reads a schema; simple is false if it must be answered with JSON.
func nodeOf(schema json.RawMessage) (n node, simple bool) {
	var keywords map[string]json.RawMessage
	if json.Unmarshal(schema, &keywords) != nil || keywords == nil || json.Unmarshal(schema, &n) != nil {
		return node{raw: schema}, false
	}
	n.raw, n.plain = schema, true
	for _, k := range composed {
		if _, there := keywords[k]; there {
			n.plain = false
			return n, false
		}
	}
	n.members = membersOf(n.Properties)
	return n, true
}

// membersOf are the members of an object in the order in which they are written.
func membersOf(object json.RawMessage) (all []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		name, isName := key.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil {
			return nil
		}
		all = append(slices.DeleteFunc(all, func(m member) bool { return m.name == name }), member{name, value})
	}
	return all
}

// types are the types that a value may have.
func (n node) types() (all []string) {
	switch t := n.Type.(type) {
	case string:
		return []string{t}
	case []any:
		for _, one := range t {
			name, _ := one.(string)
			all = append(all, name)
		}
	}
	return all
}

func (n node) nullable() bool { return slices.Contains(n.types(), "null") }

// kind is the one type that a value has if it is not null; empty if there is none or several.
func (n node) kind() string {
	types := slices.DeleteFunc(n.types(), func(t string) bool { return t == "null" })
	if len(types) == 1 {
		return types[0]
	}
	if len(types) == 0 && len(n.members) > 0 {
		return "object"
	}
	return ""
}

// lines are the formats of texts without line breaks.
var lines = []string{"email", "uri", "url", "date", "time", "date-time", "uuid", "hostname", "ipv4", "ipv6"}

// field is what takes a value of the schema, and the options to choose from.
func (n node) field() (fieldKind, []json.RawMessage) {
	if !n.plain {
		return fieldJSON, nil
	}
	if options, chosen := n.choice(); chosen {
		return fieldChoice, options
	}
	switch n.kind() {
	case "boolean":
		return fieldChoice, []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	case "number", "integer":
		return fieldNumber, nil
	case "string":
		if slices.Contains(lines, n.Format) {
			return fieldLine, nil
		}
		return fieldText, nil
	case "array":
		items, simple := nodeOf(n.Items)
		if options, chosen := items.choice(); simple && chosen {
			return fieldSome, options
		}
		if simple && items.kind() == "string" && !items.nullable() {
			return fieldLines, nil
		}
	}
	return fieldJSON, nil
}

// choice are the values of an enum. Values that are not texts, numbers, true, false or null are
// written as JSON.
func (n node) choice() ([]json.RawMessage, bool) {
	options := n.Enum
	if len(n.Const) > 0 {
		options = []json.RawMessage{n.Const}
	}
	scalar := func(v json.RawMessage) bool { return len(v) > 0 && v[0] != '{' && v[0] != '[' }
	if len(options) == 0 || len(options) > mostOptions || slices.ContainsFunc(options, func(v json.RawMessage) bool { return !scalar(v) }) {
		return nil, false
	}
	return options, true
}

// Names are the fields that the page of the form sends.
func (f Form) Names() (all []string) {
	for _, one := range f.fields {
		if one.kind != fieldSome {
			all = append(all, one.name)
			continue
		}
		for i := range one.options {
			all = append(all, one.option(i))
		}
	}
	return all
}

// option is the name of the box for one of several options.
func (f field) option(i int) string { return fmt.Sprintf("%s.%d", f.name, i) }

// optionAt is the value of the button for one of several options.
func (f field) optionAt(i int) string { return strconv.Itoa(i) }

// optionOf is the option that is a value; -1 if none is.
func (f field) optionOf(value json.RawMessage) int {
	return slices.IndexFunc(f.options, func(option json.RawMessage) bool { return same(option, value) })
}

// textOf is an option in words: a text as it is, other values as JSON.
func textOf(option json.RawMessage) string {
	var text string
	if json.Unmarshal(option, &text) == nil && !core.IsNull(option) {
		return text
	}
	return strings.TrimSpace(string(option))
}
