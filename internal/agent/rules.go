package agent

import (
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Rules are a definition made ready to decide: a [core.Rules] whose schemas are compiled. Safe for concurrent use.
type Rules struct {
	pinned   Definition
	deployed *Definition // whose denies count as well; nil for none
	tools    map[string]compiled
	offered  []core.ToolSpec
}

type compiled struct {
	spec   core.ToolSpec
	schema *jsonschema.Resolved
}

var _ core.Rules = (*Rules)(nil)

// Rules makes the rules of a pinned definition. functions are the Go functions there are, by the name they are registered
// under; a tool whose function is not among them is gone, and a call of it fails. What deployed, the version deployed now, denies
// is denied here too; nil if there is none. Nothing else of deployed counts, so a deploy can take rights and never add.
func (d Definition) Rules(functions map[string]core.ToolSpec, deployed *Definition) (*Rules, error) {
	r := &Rules{pinned: d, deployed: deployed, tools: map[string]compiled{}}
	for _, t := range d.Tools {
		spec, ok := t.spec(functions)
		if !ok {
			continue
		}
		schema, err := compile(spec.Parameters)
		if err != nil {
			return nil, fmt.Errorf("agent %s: parameters of tool %s: %w", d.Name, t.Name, err)
		}
		r.tools[t.Name] = compiled{spec, schema}
		if !r.deniesAlways(t.Name) {
			r.offered = append(r.offered, spec)
		}
	}
	return r, nil
}

// spec joins what the definition and the function say. At most once wins over everything; that a call may run twice even
// though a person approved it must be said as idempotent, and is not meant by at_least_once alone.
func (t Tool) spec(functions map[string]core.ToolSpec) (core.ToolSpec, bool) {
	spec := core.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Client: t.Client}
	delivery := t.Delivery
	if t.Go != "" {
		f, ok := functions[t.Go]
		if !ok {
			return core.ToolSpec{}, false
		}
		spec.Parameters = f.Parameters
		if spec.Description == "" {
			spec.Description = f.Description
		}
		spec.Delivery = f.Delivery
	}
	switch {
	case delivery == core.AtMostOnce || spec.Delivery == core.AtMostOnce:
		spec.Delivery = core.AtMostOnce
	case t.Idempotent:
		spec.Delivery = core.AtLeastOnce
	}
	return spec, true
}

// Offered are the tools the model is told of, in the order of the definition: those that exist and are not denied whatever
// their arguments.
func (r *Rules) Offered() []core.ToolSpec { return r.offered }

// Tool implements [core.Rules].
func (r *Rules) Tool(name string) (core.ToolSpec, bool) {
	t, ok := r.tools[name]
	return t.spec, ok
}

// Check implements [core.Rules]. The error's text is for the model: it names the argument and what was expected.
func (r *Rules) Check(call core.ToolCall) error {
	t, ok := r.tools[call.Name]
	if !ok {
		return fmt.Errorf("there is no tool %q", call.Name)
	}
	return checkArguments(t.schema, call.Arguments)
}

// Gate implements [core.Rules].
func (r *Rules) Gate(call core.ToolCall, _ core.State) core.Verdict {
	args := readArguments(call.Arguments)
	if r.deployed != nil {
		if v := r.deployed.Permissions.verdict(call.Name, args); v.Effect == core.Deny {
			return v
		}
	}
	return r.pinned.gate(call.Name, args)
}

// Deadline implements [core.Rules].
func (r *Rules) Deadline(core.ToolCall, core.Kind) core.Deadline { return core.Deadline{} }

// Terms implements [core.Rules].
func (r *Rules) Terms() core.Terms { return core.Terms{} }

func (r *Rules) deniesAlways(tool string) bool {
	return r.pinned.Permissions.deniesAlways(tool) || r.deployed != nil && r.deployed.Permissions.deniesAlways(tool)
}
