package httpapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// shapes makes JSON Schemas of Go types: one named component for each struct. What Go does not say
// (what a member means, which words it may hold, what stands in raw JSON) comes from the table
// members; a member that is not in it is an error.
//
// Of answers, members without omitempty are always there, and others may come. Of requests, those
// in needed must be there, others may be null, which is the same as leaving them out, and no others
// may come.
type shapes struct {
	schemas map[string]*jsonschema.Schema
	missing []string
	used    map[string]bool
}

func newShapes() *shapes {
	return &shapes{schemas: map[string]*jsonschema.Schema{}, used: map[string]bool{}}
}

var requests = map[reflect.Type]bool{
	reflect.TypeFor[wire.StartRequest](): true, reflect.TypeFor[wire.MessageRequest](): true, reflect.TypeFor[wire.ResumeRequest](): true,
	reflect.TypeFor[wire.Decision](): true, reflect.TypeFor[wire.Answer](): true, reflect.TypeFor[wire.Bulk](): true, reflect.TypeFor[wire.BulkQuestion](): true, reflect.TypeFor[wire.Verdict](): true, reflect.TypeFor[wire.VerdictForm](): true, reflect.TypeFor[wire.Decisions](): true, reflect.TypeFor[wire.LinkRequest](): true, reflect.TypeFor[wire.AskRequest](): true, reflect.TypeFor[wire.AskCallback](): true, reflect.TypeFor[struct{}](): true, reflect.TypeFor[wire.NotifyTarget](): true,
	reflect.TypeFor[wire.ClientTool](): true, reflect.TypeFor[wire.ContextItem](): true,
	reflect.TypeFor[wire.WebhookRequest](): true, reflect.TypeFor[wire.WebhookChange](): true, reflect.TypeFor[wire.EndpointRequest](): true, reflect.TypeFor[wire.RedriveRequest](): true,
}

var needed = map[string]bool{"StartRequest.agent": true, "StartRequest.input": true, "MessageRequest.input": true, "Decision.target": true,
	"Decisions.decisions": true, "Bulk.action": true, "Bulk.questions": true, "BulkQuestion.suspension": true, "BulkQuestion.shown": true, "Verdict.action": true, "VerdictForm.action": true, "LinkRequest.target": true, "LinkRequest.for": true, "AskRequest.title": true, "AskCallback.url": true, "AskCallback.secret": true,
	"ClientTool.name": true, "ContextItem.value": true, "NotifyTarget.name": true, "NotifyTarget.on": true,
	"WebhookRequest.on": true, "EndpointRequest.endpoint": true, "RedriveRequest.endpoint": true}

func refTo(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}
}

// of is the schema of a type, by reference if it has a name.
func (s *shapes) of(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == reflect.TypeFor[wire.Time]():
		s.named("Time", func() *jsonschema.Schema { return timeSchema })
		return refTo("Time")
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && t.Kind() == reflect.Uint8:
		return enumOf(wordsOf(t)...)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case reflect.Struct:
		name := nameOf(t)
		s.named(name, func() *jsonschema.Schema { return s.object(t, name) })
		return refTo(name)
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: s.of(t.Elem())}
	case reflect.Map:
		return &jsonschema.Schema{Type: "object"}
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.Int, reflect.Int64:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}
	}
	panic(fmt.Sprintf("no schema for %v", t))
}

func (s *shapes) named(name string, build func() *jsonschema.Schema) {
	if s.schemas[name] == nil {
		// while it is built, for one that holds itself
		s.schemas[name] = &jsonschema.Schema{}
		*s.schemas[name] = *build()
	}
}

// nameOf is the component's name: the type's, and of a page RunPage and the like.
func nameOf(t reflect.Type) string {
	name, of, generic := strings.Cut(t.Name(), "[")
	switch {
	case t.Name() == "":
		return "Nothing"
	case generic:
		return strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]") + name
	}
	return name
}

func (s *shapes) object(t reflect.Type, name string) *jsonschema.Schema {
	asked := requests[t]
	o := &jsonschema.Schema{Type: "object", Description: abouts[name], Properties: map[string]*jsonschema.Schema{}}
	if asked {
		o.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	if t == reflect.TypeFor[wire.VerdictForm]() {
		o.PatternProperties = map[string]*jsonschema.Schema{`^f[0-9]+(\.[0-9]+)?$`: {Type: "string", Description: "A numbered field of the page, for a value of the answer. Only the page knows the numbers."}}
	}
	if o.Description == "" {
		s.missing = append(s.missing, name)
	}
	s.fill(o, t, asked)
	return o
}

// fill adds the members of a struct; those of an embedded one count as its own.
func (s *shapes) fill(o *jsonschema.Schema, t reflect.Type, asked bool) {
	// what is said of a page holds for pages of anything
	owner, _, _ := strings.Cut(t.Name(), "[")
	for i := range t.NumField() {
		f := t.Field(i)
		tag, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			s.fill(o, inner, asked)
			continue
		case tag == "-":
			continue
		}
		if !asked && omit != "" && f.Type.Kind() == reflect.Pointer {
			f.Type = f.Type.Elem() // it is left out, never null
		}
		o.Properties[tag] = s.member(owner+"."+tag, f.Type, asked)
		o.PropertyOrder = append(o.PropertyOrder, tag)
		if asked && needed[owner+"."+tag] || !asked && omit == "" {
			o.Required = append(o.Required, tag)
		}
	}
}

func (s *shapes) member(name string, t reflect.Type, asked bool) *jsonschema.Schema {
	m, ok := members[name]
	s.used[name] = true
	if !ok || m.about == "" {
		s.missing = append(s.missing, name)
		return &jsonschema.Schema{}
	}
	schema := m.is
	switch {
	case schema != nil:
		schema = schema.CloneSchemas()
	case t == reflect.TypeFor[json.RawMessage]():
		s.missing = append(s.missing, name+" (what the raw JSON holds)")
		return &jsonschema.Schema{}
	default:
		schema = s.of(t)
	}
	if asked && schema.Type == "integer" && schema.Maximum == nil {
		schema.Maximum = jsonschema.Ptr(mostInteger)
	}
	if asked && !needed[name] && t.Kind() != reflect.Pointer {
		schema = orNull(schema)
	}
	if schema.Description == "" {
		schema.Description = m.about
	}
	return schema
}

// orNull also takes null.
func orNull(schema *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case schema.Ref != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{schema, {Type: "null"}}}
	case schema.Type != "":
		schema.Types, schema.Type = []string{schema.Type, "null"}, ""
	}
	if schema.Enum != nil {
		schema.Enum = append(schema.Enum, nil)
	}
	return schema
}

func enumOf(words ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
	}
	return s
}

// wordsOf are the words of one of core's enums, from its table.
func wordsOf(t reflect.Type) []string {
	var words []string
	for n := range 64 {
		v := reflect.New(t).Elem()
		v.SetUint(uint64(n))
		if text, err := v.Interface().(encoding.TextMarshaler).MarshalText(); err == nil {
			words = append(words, string(text))
		}
	}
	return words
}

func words[E any]() *jsonschema.Schema { return enumOf(wordsOf(reflect.TypeFor[E]())...) }

// mostInteger is the largest integer that every reader of JSON reads exactly. A body with a larger
// one is malformed as a whole.
const mostInteger = float64(1<<53 - 1)

// loosely is an object of a list whose entries are answered one by one: its members are known and
// of the right type, and what else is wrong with it is said in its place.
func loosely(o *jsonschema.Schema) *jsonschema.Schema {
	o = o.CloneSchemas()
	o.Description = "Like a single decision. Errors in its values are reported in its own answer."
	o.Required = nil
	for name, m := range o.Properties {
		switch {
		case name == "arguments":
			o.Properties[name] = &jsonschema.Schema{Description: m.Description}
		case m.Type == "string":
			m.Type, m.Types = "", []string{"string", "null"}
			fallthrough
		default:
			m.Enum, m.MinLength, m.MaxLength, m.Minimum, m.Maximum = nil, nil, nil, nil, nil
			if slices.Contains(m.Types, "integer") {
				m.Minimum, m.Maximum = jsonschema.Ptr(-mostInteger), jsonschema.Ptr(mostInteger)
			}
		}
	}
	return o
}
