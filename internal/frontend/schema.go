package frontend

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// checkSchema holds a result against the schema that the suspension was shown with. A bare yes to an approval is no
// result. A schema that is none is ignored: it must not keep a call waiting for ever.
func checkSchema(call core.SuspendedCall, r core.Resume) error {
	if core.IsNull(call.Suspension.ResponseSchema) || r.Result == nil || r.Action != core.ActionResume {
		return nil
	}
	var value any
	if err := json.Unmarshal(r.Result, &value); err != nil {
		return refuse(CodeInvalid, "result is not JSON")
	}
	if _, object := value.(map[string]any); call.Kind == core.KindApproval && !object {
		return nil
	}
	var schema jsonschema.Schema
	if json.Unmarshal(call.Suspension.ResponseSchema, &schema) != nil {
		return nil
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	if err := resolved.Validate(value); err != nil {
		return refuse(CodeSchemaMismatch, "the result does not fit the response schema: %v", err)
	}
	return nil
}
