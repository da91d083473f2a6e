package agent

import (
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Rules are a definition made ready to decide: a [core.Rules] whose schemas and patterns are
// compiled. Safe for concurrent use.
type Rules struct {
	pinned  Definition
	gate    gatekeeper
	terms   core.Terms
	tools   map[string]compiled
	offered []core.ToolSpec
}

type compiled struct {
	spec   core.ToolSpec
	schema *jsonschema.Resolved
	names  declarations
	http   *HTTP   // nil: no request
	callee *Callee // nil: no agent
}

var _ core.Rules = (*Rules)(nil)

// Rules makes the rules of a pinned definition. functions are the Go functions there are, by the
// name they are registered under; a tool whose function is not among them is gone, and a call of it
// fails. The layers can only take rights away.
func (d Definition) Rules(functions map[string]core.ToolSpec, layers Layers) (*Rules, error) {
	terms, err := d.terms()
	if err != nil {
		return nil, err
	}
	r := &Rules{pinned: d, gate: newGatekeeper(d, layers), terms: terms, tools: map[string]compiled{}}
	for _, t := range d.Tools {
		if spec, ok := t.spec(functions); ok {
			if err := r.add(spec, t); err != nil {
				return nil, err
			}
		}
	}
	if d.Finish != nil {
		if err := r.add(d.Finish.spec(), Tool{}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Rules) add(spec core.ToolSpec, t Tool) error {
	schema, err := Compile(spec.Parameters)
	if err != nil {
		return fmt.Errorf("agent %s: parameters of tool %s: %w", r.pinned.Name, spec.Name, err)
	}
	r.tools[spec.Name] = compiled{spec, schema, declared(DecodeValue(spec.Parameters), t.forwards()), t.HTTP, t.Agent}
	if !r.gate.refusesAlways(spec.Name) {
		r.offered = append(r.offered, spec)
	}
	return nil
}

// spec joins what the definition and the function say. At most once wins over everything; that a
// call may run twice even though a person approved it must be said as idempotent, and is not meant
// by at_least_once alone.
func (t Tool) spec(functions map[string]core.ToolSpec) (core.ToolSpec, bool) {
	spec := core.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Result: t.Result, Client: t.Client, ReadOnly: t.ReadOnly, Agent: t.Agent != nil, Supplied: t.Supplied}
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
		spec.ReadOnly = t.ReadOnly || f.ReadOnly
	}
	switch {
	case delivery == core.AtMostOnce || spec.Delivery == core.AtMostOnce:
		spec.Delivery = core.AtMostOnce
	case t.Idempotent:
		spec.Delivery = core.AtLeastOnce
	}
	return spec, true
}

// Offered returns the tools that the model sees, in the order of the definition. It leaves out
// tools that don't exist and tools of which every call would be denied or blocked.
func (r *Rules) Offered() []core.ToolSpec { return r.offered }

// Tool implements [core.Rules].
func (r *Rules) Tool(name string) (core.ToolSpec, bool) {
	t, ok := r.tools[name]
	return t.spec, ok
}

// Check implements [core.Rules]. The error's text is for the model: it names the argument and what
// was expected.
func (r *Rules) Check(call core.ToolCall) error {
	t, ok := r.tools[call.Name]
	if !ok {
		return fmt.Errorf("there is no tool %q", call.Name)
	}
	if err := checkArguments(t.schema, t.names, call.Arguments); err != nil {
		return err
	}
	switch {
	case t.http != nil:
		return t.http.checkSent(call.Arguments)
	case t.callee != nil:
		return t.callee.checkInserted(call.Arguments)
	}
	return nil
}

// Gate implements [core.Rules].
func (r *Rules) Gate(call core.ToolCall, _ core.State) core.Verdict {
	return r.gate.judge(call.Name, readArguments(call.Arguments))
}

// RefusedCommand is why an effect may not run a program; empty if it may.
func (r *Rules) RefusedCommand(program string) string {
	reason, _ := r.gate.command(program)
	return reason
}

// Deadline implements [core.Rules].
func (r *Rules) Deadline(call core.ToolCall, kind core.Kind) core.Deadline {
	return r.pinned.deadline(call.Name, kind)
}

// Terms implements [core.Rules].
func (r *Rules) Terms() core.Terms { return r.terms }
