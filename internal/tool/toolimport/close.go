package toolimport

import (
	"bytes"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// closed is a schema of arguments that says additionalProperties: false wherever a call with an
// undeclared member is refused, so that the file says what holds. It leaves objects alone that
// several schemas describe together (allOf and its like): each of them would refuse what the others
// declare. none says that the tool takes no arguments at all, without its schema saying so.
func closed(schema json.RawMessage) (out json.RawMessage, none bool) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var root map[string]any
	if dec.Decode(&root) != nil || root == nil {
		return schema, false // package agent says what is wrong with it
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

// together says whether other schemas describe the same value.
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

// saysMore says whether a schema speaks of members that it does not describe: it demands some, or
// says whether there may be any.
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
