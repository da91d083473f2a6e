package bedrock

import (
	"encoding/json"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
)

var errMisfit = errors.New("bedrock: an answer that does not fit the output's schema")

// compile prepares the schema that answers are held against.
func compile(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// fits compares numbers as float64; the text itself stays as the model wrote it.
func fits(schema *jsonschema.Resolved, text string) error {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return errors.New("it is no JSON")
	}
	if schema.Validate(v) != nil {
		return errMisfit // what the validator says repeats what the model said
	}
	return nil
}
