package planner

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// effective returns the call with the arguments that run: the model's, or those of the approver who
// edited them.
func (d *draft) effective(call core.ToolCall) core.ToolCall {
	c := d.h.Calls[call.ID]
	if rec, ok := d.round.Decisions[c.EditedBy]; ok && c.EditedBy != "" && !core.IsNull(rec.Arguments) {
		call.Arguments = rec.Arguments
	}
	return call
}

// edited reports whether an approver edited the arguments.
func (d *draft) edited(call core.ToolCall) bool { return d.h.Calls[call.ID].EditedBy != "" }

// editedArguments are those that run if they were edited; nil if the model's do.
func (d *draft) editedArguments(call core.ToolCall) json.RawMessage {
	if !d.edited(call) {
		return nil
	}
	return d.effective(call).Arguments
}

// invalidToRun returns why an approved call can't run with its arguments, or "". Edited arguments
// are checked like a model's; the model's own were checked when the call was new.
func (d *draft) invalidToRun(call core.ToolCall) string {
	if d.edited(call) {
		if err := d.check(d.effective(call)); err != nil {
			return "Not run: the edited arguments are not valid: " + err.Error()
		}
		return ""
	}
	if _, err := strict.Arguments(call.Arguments); err != nil {
		return "Not run: the arguments are not valid: " + err.Error()
	}
	return ""
}
