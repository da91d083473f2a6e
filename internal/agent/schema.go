package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// Compile prepares a JSON Schema for the arguments of a tool. No schema accepts any object.
func Compile(raw json.RawMessage) (*jsonschema.Resolved, error) {
	if core.IsNull(raw) {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", misread(err))
	}
	if s.Type != "object" {
		return nil, errors.New("a tool's arguments are an object: begin the schema with type: object")
	}
	if err := CheckSchema(DecodeValue(raw)); err != nil {
		return nil, err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	return resolved, nil
}

// misread says what is wrong in the words of the schema, not in those of the types that it is read
// into.
func misread(err error) error {
	wrong, is := errors.AsType[*json.UnmarshalTypeError](err)
	if !is {
		return err
	}
	at := strings.TrimPrefix(strings.ReplaceAll("."+wrong.Field, ".schemaWithoutMethods", ""), ".")
	return fmt.Errorf("%s must not be a JSON %s", cmp.Or(at, "it"), wrong.Value)
}

// checkArguments tells the model why raw does not fit the schema. It checks the canonical form,
// which is also the form that rules judge, approvers see and tools get. It compares numbers as
// float64, because JSON Schema validators agree on that; the arguments themselves stay as they were
// written.
func checkArguments(schema *jsonschema.Resolved, names declarations, raw json.RawMessage) error {
	canonical, err := strict.Arguments(raw)
	if err != nil {
		return fmt.Errorf("invalid arguments: %w", err)
	}
	if core.IsNull(canonical) {
		canonical = json.RawMessage(`{}`)
	}
	var v any
	if err := json.Unmarshal(canonical, &v); err != nil {
		return errors.New("invalid arguments: they cannot be read as JSON with ordinary numbers; expected a JSON object")
	}
	if _, ok := v.(map[string]any); !ok {
		return fmt.Errorf("invalid arguments: expected a JSON object, got %s", jsonKind(v))
	}
	if err := checkNames(v); err != nil {
		return err
	}
	if err := schema.Validate(v); err != nil {
		return errors.New(explain(err))
	}
	return names.check(v)
}

func jsonKind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "an array"
	}
	return "something else"
}

var (
	layer    = lazyregexp.New(`^validating ([^:]*): `)
	typeGot  = lazyregexp.New(`(?s)^type: .* has type "([a-z]+)", want (?:one of )?"([a-z, ]+)"$`)
	required = lazyregexp.New(`^required: missing properties: \[(.*)\]$`)
	extra    = lazyregexp.New(`^unexpected additional properties \[(.*)\]$`)
)

// explain turns the validator's error into a sentence that names the argument and what was
// expected.
func explain(err error) string {
	text, where := err.Error(), ""
	for found := layer.FindStringSubmatch(text); found != nil; found = layer.FindStringSubmatch(text) {
		text = text[len(found[0]):]
		// a definition that is referred to has no place of its own
		if path := argumentPath(found[1]); path != "" {
			where = path
		}
	}
	if m := typeGot.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("expected %s, got %s", strings.ReplaceAll(m[2], ", ", " or "), m[1])
	} else if m := required.FindStringSubmatch(text); m != nil {
		text = "missing " + strings.ReplaceAll(m[1], `" "`, `", "`)
	} else if m := extra.FindStringSubmatch(text); m != nil {
		text = "unknown " + strings.ReplaceAll(m[1], `" "`, `", "`)
	}
	if where != "" {
		text = fmt.Sprintf("argument %q: %s", where, text)
	}
	return "invalid arguments: " + Shorten(text, 500)
}

// argumentPath turns a place in the schema, /properties/order/properties/id, into the place in the
// arguments, order.id.
func argumentPath(pointer string) string {
	var path []string
	segments := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := 0; i < len(segments); i++ {
		switch segments[i] {
		case "properties":
			if i++; i < len(segments) {
				path = append(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(segments[i]))
			}
		case "items", "prefixItems":
			path = append(path, "[]")
		}
	}
	return strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]")
}

// Shorten cuts text to so many bytes, at the end of a character.
func Shorten(text string, most int) string { return clip.Bytes(text, most, "...") }
