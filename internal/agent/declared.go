package agent

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// declarations say which members a schema names, for tools whose arguments leave the run as they
// are: http, lambda, mcp and agent. JSON Schema lets every other member through, so that a service
// would be sent what no rule was asked about. Here an object takes the members that some part of
// the schema names for it (under properties, patternProperties or required, through allOf, anyOf,
// oneOf, if, then, else, dependentSchemas and $ref), and any others only where a part says
// additionalProperties or unevaluatedProperties and does not say false. An object of which no part
// names a member is free, but for the arguments themselves: a tool whose schema names none takes
// none.
type declarations struct {
	root   *shape
	closed bool // members that are not declared are refused
}

// shape is what one schema says of the members and items of a value.
type shape struct {
	names    map[string]*shape
	patterns []patternShape
	required []string
	more     []*shape // of members that are not named
	open     bool     // such members are allowed
	prefix   []*shape
	items    []*shape // of every item
	beside   []*shape // what else is said of the same value
}

type patternShape struct {
	match *regexp.Regexp
	shape *shape
}

// declared reads a schema that [compile] has accepted.
func declared(schema any, closed bool) declarations {
	r := shapeReader{check: schemaCheck{root: schema}, refs: map[string]*shape{}}
	root := &shape{}
	r.refs["#"] = root
	r.fill(root, schema)
	return declarations{root, closed}
}

type shapeReader struct {
	check schemaCheck
	refs  map[string]*shape
}

func (r shapeReader) shape(schema any) *shape {
	s := &shape{}
	r.fill(s, schema)
	return s
}

func (r shapeReader) shapes(schemas []any) (out []*shape) {
	for _, schema := range schemas {
		out = append(out, r.shape(schema))
	}
	return out
}

func (r shapeReader) fill(s *shape, schema any) {
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	if len(properties) > 0 {
		s.names = map[string]*shape{}
	}
	for name, sub := range properties {
		s.names[name] = r.shape(sub)
	}
	patterns, _ := object["patternProperties"].(map[string]any)
	for pattern, sub := range patterns {
		if match, err := regexp.Compile(pattern); err == nil {
			s.patterns = append(s.patterns, patternShape{match, r.shape(sub)})
		}
	}
	s.required = TypesOf(object["required"])
	for _, word := range []string{"additionalProperties", "unevaluatedProperties"} {
		if more, said := object[word]; said && more != false {
			s.open = true
			s.more = append(s.more, r.shape(more))
		}
	}
	r.fillItems(s, object)
	s.beside = r.shapes(slices.Concat(members(object, "if", "then", "else"), listed(object, "allOf", "anyOf", "oneOf"), named(object, "dependentSchemas")))
	if ref, ok := object["$ref"].(string); ok {
		s.beside = append(s.beside, r.referred(ref))
	}
}

func (r shapeReader) fillItems(s *shape, object map[string]any) {
	s.prefix = r.shapes(listed(object, "prefixItems"))
	if old, isList := object["items"].([]any); isList { // draft 7
		s.prefix = r.shapes(old)
	}
	s.items = r.shapes(members(object, "items", "additionalItems", "contains", "unevaluatedItems"))
}

// referred reads what a reference leads to, once: a schema may refer to itself.
func (r shapeReader) referred(ref string) *shape {
	if s, there := r.refs[ref]; there {
		return s
	}
	s := &shape{}
	r.refs[ref] = s
	target, _ := r.check.lookup(ref)
	r.fill(s, target)
	return s
}

// check says, for the model, which member of the arguments is not declared.
func (d declarations) check(args any) error {
	return d.value(args, []*shape{d.root}, "")
}

func (d declarations) value(v any, said []*shape, path string) error {
	switch v := v.(type) {
	case map[string]any:
		return d.object(v, all(said), path)
	case []any:
		said = all(said)
		for i, item := range v {
			if err := d.value(item, ofItem(said, i), path+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d declarations) object(v map[string]any, said []*shape, path string) error {
	o := objectOf(said)
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		of, named := o.member(name)
		if !named {
			if alias := o.alias(name); alias != "" {
				return fmt.Errorf("invalid arguments: %sunknown %s; write it as %q", atPath(path), spelled(name), alias)
			}
			if d.closed && !o.open && (path == "" || o.names()) {
				unknown = append(unknown, spelled(name))
				continue
			}
		}
		if err := d.value(v[name], of, joinPath(path, name)); err != nil {
			return err
		}
	}
	if unknown == nil {
		return nil
	}
	return fmt.Errorf("invalid arguments: %sunknown %s; %s", atPath(path), Shorten(strings.Join(unknown, ", "), 500), o.takes(path))
}

// all are the shapes and what they say beside themselves, each once.
func all(said []*shape) []*shape {
	var out []*shape
	for todo := slices.Clone(said); len(todo) > 0; todo = todo[1:] {
		if !slices.Contains(out, todo[0]) {
			out = append(out, todo[0])
			todo = append(todo, todo[0].beside...)
		}
	}
	return out
}

func ofItem(said []*shape, i int) (of []*shape) {
	for _, s := range said {
		if i < len(s.prefix) {
			of = append(of, s.prefix[i])
		}
		of = append(of, s.items...)
	}
	return of
}

// objectShape is what all parts of a schema say together of one object.
type objectShape struct {
	said []*shape
	open bool
}

func objectOf(said []*shape) objectShape {
	return objectShape{said, slices.ContainsFunc(said, func(s *shape) bool { return s.open })}
}

// member is what is said of a member's value, and whether the member is named.
func (o objectShape) member(name string) (of []*shape, isNamed bool) {
	for _, s := range o.said {
		if sub, there := s.names[name]; there {
			of, isNamed = append(of, sub), true
		}
		for _, p := range s.patterns {
			if p.match.MatchString(name) {
				of, isNamed = append(of, p.shape), true
			}
		}
		isNamed = isNamed || slices.Contains(s.required, name)
	}
	if !isNamed {
		for _, s := range o.said {
			of = append(of, s.more...)
		}
	}
	return of, isNamed
}

// names says whether some part names a member.
func (o objectShape) names() bool {
	return slices.ContainsFunc(o.said, func(s *shape) bool { return s.names != nil || s.patterns != nil || s.required != nil })
}

func (o objectShape) list() []string {
	var names []string
	for _, s := range o.said {
		names = slices.AppendSeq(names, maps.Keys(s.names))
		names = append(names, s.required...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// alias is the declared name that some service would take this one for, though it is another; empty
// if there is none.
func (o objectShape) alias(name string) string {
	key := nameKey(name)
	for _, known := range o.list() {
		if nameKey(known) == key {
			return known
		}
	}
	return ""
}

func (o objectShape) takes(path string) string {
	if path == "" {
		return takes(o.list())
	}
	return `it takes only "` + strings.Join(o.list(), `", "`) + `"`
}

func atPath(path string) string {
	if path == "" {
		return ""
	}
	return fmt.Sprintf("argument %q: ", path)
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
