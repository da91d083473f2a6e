package bedrock

import (
	"encoding/json"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
)

var errMisfit = errors.New("bedrock: the answer does not match the schema of the output")

// compile prepares the schema that answers are validated against.
func compile(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// fits validates an answer. It compares numbers as float64; the text itself stays as the model
// wrote it.
func fits(schema *jsonschema.Resolved, text string) error {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return errors.New("it is not JSON")
	}
	if schema.Validate(v) != nil {
		return errMisfit // the validator's message would quote the model
	}
	return nil
}
