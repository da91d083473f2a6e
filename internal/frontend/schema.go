package frontend

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// checkArguments holds edited arguments against the tool and the rules of the version that the run
// is pinned to. notBy is whom the rules that ask about these arguments bar: an edit answers them
// too, and they may be stricter than those that asked.
func (f *Frontend) checkArguments(ctx context.Context, c Caller, r core.Record, call core.SuspendedCall, d core.Resume) (notBy string, err error) {
	if d.Arguments == nil || f.check == nil {
		return "", nil
	}
	edited := core.ToolCall{ID: call.CallID, Name: call.ToolName, Arguments: d.Arguments}
	pin, err := f.pinOf(ctx, c.Tenant, r)
	if err != nil {
		return "", err
	}
	notBy, err = storecall.Try(ctx, f.Clock, func() (string, error) { return f.check(ctx, pin, edited) })
	if err == nil || ctx.Err() != nil || errors.As(err, new(*refusal.Error)) {
		return notBy, err
	}
	return "", refusal.New(refusal.CodeInvalidArguments, "%v", err)
}

// checkSchema holds a result against the schema that the suspension was shown with. A bare yes to
// an approval that lets the call run is no result. A schema that is none is ignored: it must not
// keep a call waiting for ever.
func checkSchema(call core.SuspendedCall, r core.Resume) error {
	if core.IsNull(call.Suspension.ResponseSchema) || r.Result == nil || r.Action != core.ActionResume {
		return nil
	}
	var value any
	if err := json.Unmarshal(r.Result, &value); err != nil {
		return refusal.New(refusal.CodeInvalid, "result is not JSON")
	}
	if _, object := value.(map[string]any); call.Kind == core.KindApproval && call.ResumeMode != core.UseDecisionAsToolResult && !object {
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
		return refusal.New(refusal.CodeSchemaMismatch, "the result doesn't match the response schema: %v", err)
	}
	return nil
}
