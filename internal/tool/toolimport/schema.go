package toolimport

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mostSchema limits how many values the schema of one tool may have once its references are
// expanded.
const mostSchema = 5000

// expander expands a schema until it contains no reference.
type expander struct {
	document
	left  int
	notes []string
}

func (d document) expander() *expander { return &expander{document: d, left: mostSchema} }

func (x *expander) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.notes, text) {
		x.notes = append(x.notes, text)
	}
}

// The keywords of a schema that are kept, by the kind of their value. Everything else in a schema
// is dropped: examples, XML, extensions.
var (
	plainWords = []string{"type", "format", "title", "description", "enum", "const", "default", "required", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "dependentRequired"}
	schemaWords = []string{"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"}
	listWords   = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	namedWords  = []string{"properties", "patternProperties", "dependentSchemas"}
)

// schema returns v without references. path holds the references that led to it.
func (x *expander) schema(v any, path []string) (any, error) {
	if x.left--; x.left < 0 {
		return nil, fmt.Errorf("its schema has more than %d parts once its references are expanded", mostSchema)
	}
	in, ok := v.(map[string]any)
	if !ok {
		if yes, isBool := v.(bool); isBool {
			return yes, nil
		}
		return nil, errors.New("a value that is not a schema is used as one")
	}
	if ref := textOf(in["$ref"]); ref != "" {
		return x.referred(in, ref, path)
	}
	out := map[string]any{}
	for _, word := range plainWords {
		if value, there := in[word]; there {
			out[word] = value
		}
	}
	if err := x.inner(in, out, path); err != nil {
		return nil, err
	}
	x.pattern(in, out)
	modern(in, out)
	x.unsent(in, out)
	return out, nil
}

// referred returns the target of a reference, merged with its siblings. A reference to an enclosing
// schema accepts anything, because the expansion must end.
func (x *expander) referred(in map[string]any, ref string, path []string) (any, error) {
	if slices.Contains(path, ref) || len(path) > 30 {
		x.note("%s contains itself; the inner one is not described further", ref[strings.LastIndexByte(ref, '/')+1:])
		return map[string]any{}, nil
	}
	target, err := x.lookup(ref)
	if err != nil {
		return nil, err
	}
	value, err := x.schema(target, append(slices.Clone(path), ref))
	out, ok := value.(map[string]any)
	if err != nil || !ok {
		return value, err
	}
	for _, word := range []string{"description", "title", "default"} {
		if own, there := in[word]; there {
			out[word] = own
		}
	}
	return out, nil
}

// inner expands the schemas inside a schema.
func (x *expander) inner(in, out map[string]any, path []string) error {
	for _, word := range schemaWords {
		if sub, there := in[word]; there {
			value, err := x.schema(sub, path)
			if err != nil {
				return err
			}
			out[word] = value
		}
	}
	for _, word := range listWords {
		for _, sub := range listOf(in[word]) {
			value, err := x.schema(sub, path)
			if err != nil {
				return err
			}
			out[word] = append(listOf(out[word]), value)
		}
	}
	for _, word := range namedWords {
		group := map[string]any{}
		for name, sub := range objectOf(in[word]) {
			value, err := x.schema(sub, path)
			if err != nil {
				return err
			}
			group[name] = value
		}
		if len(group) > 0 {
			out[word] = group
		}
	}
	return nil
}

// pattern keeps a pattern that this program can match.
func (x *expander) pattern(in, out map[string]any) {
	if text := textOf(in["pattern"]); text != "" {
		if _, err := regexp.Compile(text); err != nil {
			x.note("the pattern %s is not checked, because RE2 does not support it", begin(text, 60))
			return
		}
		out["pattern"] = text
	}
}

// modern converts the keywords that OpenAPI 3.0 has of its own to JSON Schema.
func modern(in, out map[string]any) {
	if kind := textOf(out["type"]); is(in["nullable"]) && kind != "" {
		out["type"] = []any{kind, "null"}
		if values := listOf(out["enum"]); values != nil && !slices.Contains(values, any(nil)) {
			out["enum"] = append(slices.Clone(values), nil)
		}
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		yes, old := in[exclusive].(bool)
		if !old {
			continue
		}
		delete(out, exclusive)
		if value, there := out[bound]; yes && there {
			out[exclusive] = value
			delete(out, bound)
		}
	}
}

// unsent removes what occurs only in responses.
func (x *expander) unsent(in, out map[string]any) {
	properties := objectOf(out["properties"])
	for name, sub := range objectOf(in["properties"]) {
		if property, err := x.object(sub); err == nil && is(property["readOnly"]) {
			delete(properties, name)
			out["required"] = slices.DeleteFunc(slices.Clone(listOf(out["required"])), func(v any) bool { return v == name })
		}
	}
	if len(listOf(out["required"])) == 0 {
		delete(out, "required")
	}
}

// typed reports whether a schema allows a type.
func typed(schema map[string]any, kind string) bool {
	return schema["type"] == kind || slices.Contains(listOf(schema["type"]), any(kind))
}

// flat merges an object schema whose parts all describe the same object into one. It returns false
// if that is impossible.
func flat(schema map[string]any) (map[string]any, bool) {
	for _, word := range []string{"anyOf", "oneOf", "not", "if", "patternProperties", "propertyNames", "dependentSchemas"} {
		if schema[word] != nil {
			return nil, false
		}
	}
	if schema["type"] != nil && !typed(schema, "object") {
		return nil, false
	}
	out := map[string]any{"properties": map[string]any{}, "required": []any{}}
	merge(out, schema)
	for _, part := range listOf(schema["allOf"]) {
		inside, ok := flat(objectOf(part))
		if !ok {
			return nil, false
		}
		merge(out, inside)
	}
	return out, true
}

func merge(out, schema map[string]any) {
	for name, property := range objectOf(schema["properties"]) {
		objectOf(out["properties"])[name] = property
	}
	for _, name := range listOf(schema["required"]) {
		if !slices.Contains(listOf(out["required"]), name) {
			out["required"] = append(listOf(out["required"]), name)
		}
	}
	if more, there := schema["additionalProperties"]; there {
		out["additionalProperties"] = more
	}
}
