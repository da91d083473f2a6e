package agent

import (
	"encoding/json"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Finish gives the agent the built-in tool that ends a run with an output. Output is the JSON
// Schema of that; nil for any value.
type Finish struct {
	Output json.RawMessage `json:"output,omitempty"`
}

// spec is the tool's declaration for the model.
func (f Finish) spec() core.ToolSpec {
	return core.ToolSpec{
		Name:        core.FinishTool,
		Description: "Ends the work with its output. Other calls of the same turn run first.",
		Parameters:  f.parameters(),
		Finish:      true,
	}
}

// parameters returns the schema of the arguments, which contains that of the output. Definitions
// move to the top level, where references look for them.
func (f Finish) parameters() json.RawMessage {
	output := any(map[string]any{})
	if f.Output != nil {
		output = DecodeValue(f.Output)
	}
	parameters := map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"required":             []string{"output"},
		"properties": map[string]any{
			"output": output,
			"response_state": map[string]any{
				"type":        "string",
				"description": "done if the work is complete, no_op if there was nothing to do, awaiting_input if the user must say more",
				"enum":        []core.ResponseState{core.ResponseDone, core.ResponseNoOp, core.ResponseAwaitingInput},
			},
		},
	}
	if schema, ok := output.(map[string]any); ok {
		for _, group := range definitionGroups {
			if defs, ok := schema[group]; ok {
				parameters[group] = defs
				delete(schema, group)
			}
		}
	}
	return core.Encode(parameters)
}

// Check refuses an output schema that no output could be held to.
func (f Finish) Check() error {
	schema := DecodeValue(f.Output)
	switch schema.(type) {
	case map[string]any, bool:
	default:
		return errors.New("not a JSON Schema; write it as a mapping")
	}
	if refersToRoot(schema) {
		return errors.New(`$ref "#" is not supported here; put the schema under $defs, and refer to it by name`)
	}
	_, err := Compile(f.parameters())
	return err
}
