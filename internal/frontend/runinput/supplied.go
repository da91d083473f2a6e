package runinput

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// Supplied reads the tools, context and state of a request. Whether the agent accepts them is not
// known here. An error says what is wrong, in words for the caller.
func Supplied(req wire.Supplied) (in supplied.Input, err error) {
	if in.Tools, err = suppliedTools(req.ClientTools); err != nil {
		return supplied.Input{}, err
	}
	if in.Context, err = suppliedContext(req.Context); err != nil {
		return supplied.Input{}, err
	}
	if core.IsNull(req.State) {
		return in, nil
	}
	if in.State, err = value(req.State, "state", supplied.StateBytes); err != nil {
		return supplied.Input{}, err
	}
	return in, nil
}

func suppliedTools(tools []wire.ClientTool) (out []supplied.Tool, err error) {
	if len(tools) > supplied.MostTools {
		return nil, fmt.Errorf("client_tools has %d tools; send at most %d", len(tools), supplied.MostTools)
	}
	for i, t := range tools {
		where := fmt.Sprintf("client_tools[%d]", i)
		if t.Name == "" {
			return nil, errors.New(where + " has no name")
		}
		if err := describes(t.Description, where); err != nil {
			return nil, err
		}
		made := supplied.Tool{Name: t.Name, Description: t.Description}
		if !core.IsNull(t.Parameters) {
			if made.Parameters, err = value(t.Parameters, where+".parameters", supplied.ToolsBytes); err != nil {
				return nil, err
			}
		}
		out = append(out, made)
	}
	if len(core.Encode(out)) > supplied.ToolsBytes {
		return nil, fmt.Errorf("client_tools are larger than %d bytes", supplied.ToolsBytes)
	}
	return out, nil
}

func suppliedContext(items []wire.ContextItem) (out []supplied.Item, err error) {
	if len(items) > supplied.MostContext {
		return nil, fmt.Errorf("context has %d items; send at most %d", len(items), supplied.MostContext)
	}
	for i, item := range items {
		where := fmt.Sprintf("context[%d]", i)
		if err := describes(item.Description, where); err != nil {
			return nil, err
		}
		if len(item.Value) == 0 {
			return nil, errors.New(where + " has no value")
		}
		made := supplied.Item{Description: item.Description}
		if made.Value, err = value(item.Value, where+".value", supplied.ContextBytes); err != nil {
			return nil, err
		}
		out = append(out, made)
	}
	if len(core.Encode(out)) > supplied.ContextBytes {
		return nil, fmt.Errorf("context is larger than %d bytes", supplied.ContextBytes)
	}
	return out, nil
}

func describes(text, where string) error {
	if len(text) > supplied.DescriptionBytes {
		return fmt.Errorf("%s.description is longer than %d bytes", where, supplied.DescriptionBytes)
	}
	return nil
}

// spelling is how many times longer than its canonical text a value may be written.
const spelling = 8

// value is the canonical form of a JSON value. What is written at far greater length is refused
// before it is read: to find the canonical form costs more than to send the other.
func value(raw json.RawMessage, where string, most int) (json.RawMessage, error) {
	if len(raw) > spelling*most {
		return nil, fmt.Errorf("%s is larger than %d bytes", where, most)
	}
	if depth.Exceeded(raw) {
		return nil, fmt.Errorf("%s is nested more than %d levels deep", where, depth.Max)
	}
	canonical, err := core.Canonical(raw)
	switch {
	case err != nil:
		return nil, errors.New(where + " is not valid JSON")
	case len(canonical) > most:
		return nil, fmt.Errorf("%s is larger than %d bytes", where, most)
	}
	return canonical, nil
}
