package toolimport

import (
	"bytes"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// closed adds additionalProperties: false to a schema of arguments wherever a call with an
// undeclared member is rejected anyway, so that the file states the actual rule. It leaves out
// objects that several schemas describe together (allOf and similar), because each of them would
// reject what the others declare. none reports that the tool takes no arguments although its schema
// does not say so.
func closed(schema json.RawMessage) (out json.RawMessage, none bool) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var root map[string]any
	if dec.Decode(&root) != nil || root == nil {
		return schema, false // package agent reports what is wrong with it
	}
	_, listed := root["properties"]
	none = !listed && !names(root) && !saysMore(root) && !together(root)
	closeObject(root, true)
	return core.Encode(root), none
}

func closeObject(schema map[string]any, root bool) {
	if together(schema) {
		return
	}
	if (root || names(schema)) && !saysMore(schema) {
		schema["additionalProperties"] = false
	}
	for _, word := range []string{"properties", "patternProperties"} {
		for _, sub := range objectOf(schema[word]) {
			closeObject(objectOf(sub), false)
		}
	}
	for _, word := range []string{"items", "additionalProperties"} {
		closeObject(objectOf(schema[word]), false)
	}
	for _, sub := range listOf(schema["prefixItems"]) {
		closeObject(objectOf(sub), false)
	}
}

// together reports whether other schemas describe the same value.
func together(schema map[string]any) bool {
	for _, word := range []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "$ref", "$dynamicRef"} {
		if schema[word] != nil {
			return true
		}
	}
	return schema == nil
}

func names(schema map[string]any) bool {
	return len(objectOf(schema["properties"]))+len(objectOf(schema["patternProperties"])) > 0
}

// saysMore reports whether a schema mentions members that it does not describe: it requires some,
// or says whether others are allowed.
func saysMore(schema map[string]any) bool {
	for _, name := range listOf(schema["required"]) {
		if _, described := objectOf(schema["properties"])[textOf(name)]; !described {
			return true
		}
	}
	_, more := schema["additionalProperties"]
	_, unevaluated := schema["unevaluatedProperties"]
	return more || unevaluated
}
