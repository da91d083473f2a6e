package agent

import (
	"fmt"
	"slices"
	"strings"
)

// CheckSchema refuses what the schema library would accept and then fail on: types that no JSON
// value has, which refuse every call, and references that lead back to themselves, on which
// validation never ends.
func CheckSchema(root any) error {
	c := schemaCheck{root: root}
	return c.walk(root)
}

type schemaCheck struct{ root any }

var schemaTypes = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

func (c schemaCheck) walk(schema any) error {
	object, _ := schema.(map[string]any)
	for _, t := range TypesOf(object["type"]) {
		if !slices.Contains(schemaTypes, t) {
			return fmt.Errorf("%q is not a JSON Schema type; it is one of %s", t, strings.Join(schemaTypes, ", "))
		}
	}
	if err := c.ends(object, nil); err != nil {
		return err
	}
	for _, sub := range append(inner(object), beside(object)...) {
		if err := c.walk(sub); err != nil {
			return err
		}
	}
	return nil
}

// TypesOf are the types that the member "type" of a schema names.
func TypesOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var names []string
		for _, item := range v {
			name, _ := item.(string)
			names = append(names, name)
		}
		return names
	}
	return nil
}

// ends says whether holding one value against the schema comes to an end. path are the references
// followed so far; only schemas for the same value are followed, since a value has an end.
func (c schemaCheck) ends(schema any, path []string) error {
	object, _ := schema.(map[string]any)
	if _, ok := object["$dynamicRef"]; ok {
		return fmt.Errorf("$dynamicRef is not supported; use $ref")
	}
	if ref, ok := object["$ref"].(string); ok {
		target, found := c.lookup(ref)
		switch {
		case !found:
			return fmt.Errorf("$ref %q leads nowhere; write # or #/$defs/NAME", ref)
		case slices.Contains(path, ref):
			return fmt.Errorf("$ref %q leads back to itself", ref)
		}
		if err := c.ends(target, append(slices.Clone(path), ref)); err != nil {
			return err
		}
	}
	for _, sub := range beside(object) {
		if err := c.ends(sub, path); err != nil {
			return err
		}
	}
	return nil
}

func (c schemaCheck) lookup(ref string) (any, bool) {
	if ref == "#" {
		return c.root, true
	}
	root, _ := c.root.(map[string]any)
	for _, group := range definitionGroups {
		if name, ok := strings.CutPrefix(ref, "#/"+group+"/"); ok {
			defs, _ := root[group].(map[string]any)
			target, found := defs[name]
			return target, found
		}
	}
	return nil, false
}

// beside are the schemas that a schema puts to the same value as its own.
func beside(schema map[string]any) []any {
	out := append(members(schema, "not", "if", "then", "else"), listed(schema, "allOf", "anyOf", "oneOf")...)
	return append(out, named(schema, "dependentSchemas")...)
}

// inner are the other schemas inside a schema: for parts of its value, or only defined there.
func inner(schema map[string]any) []any {
	out := members(schema, "items", "additionalProperties", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties")
	out = append(out, listed(schema, "prefixItems", "items")...) // items is a list in draft 7
	return append(out, named(schema, "properties", "patternProperties", "$defs", "definitions")...)
}

func members(schema map[string]any, keys ...string) []any {
	var out []any
	for _, key := range keys {
		if sub, ok := schema[key].(map[string]any); ok {
			out = append(out, sub)
		}
	}
	return out
}

func listed(schema map[string]any, keys ...string) []any {
	var out []any
	for _, key := range keys {
		list, _ := schema[key].([]any)
		out = append(out, list...)
	}
	return out
}

func named(schema map[string]any, keys ...string) []any {
	var out []any
	for _, key := range keys {
		group, _ := schema[key].(map[string]any)
		for _, sub := range group {
			out = append(out, sub)
		}
	}
	return out
}

// definitionGroups are the members in which a schema keeps others that references name.
var definitionGroups = []string{"$defs", "definitions"}

// refersToRoot says whether a reference to the schema itself is anywhere in it.
func refersToRoot(schema any) bool {
	object, _ := schema.(map[string]any)
	if object["$ref"] == "#" {
		return true
	}
	return slices.ContainsFunc(append(inner(object), beside(object)...), refersToRoot)
}
