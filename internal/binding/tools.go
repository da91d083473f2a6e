package binding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// function converts a tool for the registry, and rejects one that is invalid.
func function(t dormouse.Tool) (tool.Function, error) {
	switch {
	case t.Name == "":
		return tool.Function{}, errors.New("a tool has no name; set Name, which agent files refer to")
	case t.Run == nil:
		return tool.Function{}, fmt.Errorf("the tool %q has no Run; make the tool with Func, or set Run", t.Name)
	case !isObject(t.Parameters):
		return tool.Function{}, fmt.Errorf("the Parameters of the tool %q are not a JSON Schema of type object;  "+
			"make it with Func, or use {\"type\":\"object\"}", t.Name)
	}
	spec := core.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	if err := promise(&spec, t.Promises); err != nil {
		return tool.Function{}, err
	}
	return tool.Raw(spec, func(ctx context.Context, call tool.Call) (any, error) {
		result, err := t.Run(ctx, callOf(call))
		if wait, ok := suspended(err); ok {
			return nil, suspend(wait)
		}
		return result, err
	}), nil
}

func isObject(schema json.RawMessage) bool {
	var s struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

func promise(spec *core.ToolSpec, promises []dormouse.Promise) error {
	if slices.Contains(promises, dormouse.AtMostOnce) && slices.Contains(promises, dormouse.Idempotent) {
		return fmt.Errorf("the tool %q promises both AtMostOnce and Idempotent; remove one", spec.Name)
	}
	for _, p := range promises {
		switch p {
		case dormouse.AtMostOnce:
			spec.Delivery = core.AtMostOnce
		case dormouse.Idempotent:
			spec.Delivery = core.AtLeastOnce
		case dormouse.ReadOnly:
			spec.ReadOnly = true
		default:
			return fmt.Errorf("the tool %q has the unknown promise %q; use AtMostOnce, Idempotent or ReadOnly", spec.Name, p)
		}
	}
	return nil
}

func callOf(c tool.Call) dormouse.Call {
	call := dormouse.Call{Tenant: c.Tenant, Thread: c.Thread, Run: c.Run, ID: c.ID, Name: c.Name, Arguments: c.Arguments,
		Key: c.Key, Epoch: c.Epoch, Again: c.Again, State: stateOf(c.State), Scratch: c.Scratch}
	if c.Progress != nil {
		call.OnProgress(func(p dormouse.ToolProgress) { c.Progress(engine.Progress(p)) })
	}
	if c.Resume != nil {
		call.Answer = &dormouse.Answer{Value: c.Resume.Result, Reason: c.Resume.Reason}
	}
	return call
}

func stateOf(pad *pad.Pad) dormouse.State {
	return dormouse.State{Run: tool.Keys{Pad: pad, Scope: core.RunScope}, Thread: tool.Keys{Pad: pad, Scope: core.ThreadScope}}
}

// suspended finds a Suspend in an error, whether it was returned by value or by address.
func suspended(err error) (dormouse.Suspend, bool) {
	if wait, ok := errors.AsType[dormouse.Suspend](err); ok {
		return wait, true
	}
	if wait, ok := errors.AsType[*dormouse.Suspend](err); ok && wait != nil {
		return *wait, true
	}
	return dormouse.Suspend{}, false
}

// modes maps a Then to its resume mode; the empty Then is RunAgain.
var modes = map[dormouse.Then]core.ResumeMode{
	"":                  core.ReplayToolCall,
	dormouse.RunAgain:   core.ReplayToolCall,
	dormouse.HandAnswer: core.PassDecisionToTool,
	dormouse.TakeAnswer: core.UseDecisionAsToolResult,
}

// suspend converts a wait. An unknown Then is a failure, because the effect of an answer would be
// undefined.
func suspend(w dormouse.Suspend) error {
	mode, known := modes[w.Then]
	if !known {
		return fmt.Errorf("the tool suspended with the unknown Then %q; use RunAgain, HandAnswer or TakeAnswer", w.Then)
	}
	return tool.Suspend{Action: w.Action, Message: w.Message, Schema: w.Schema, Mode: mode, Within: w.Within}
}
