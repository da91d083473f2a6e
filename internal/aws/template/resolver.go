package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Deployment describes the stack for which a template is resolved.
type Deployment struct {
	Stack      string // its name
	Region     string
	Account    string
	Parameters map[string]string // values that override the defaults of the template
}

// Resolver evaluates the intrinsic functions and conditions of a template for one deployment. It
// returns an error for everything that it does not support, because an unresolved value would look
// like a resolved one. It is not safe for concurrent use.
type Resolver struct {
	t          Template
	d          Deployment
	parameters map[string]any
	evaluating map[string]bool // conditions in evaluation, to detect cycles
}

// none is AWS::NoValue: its member or element is omitted.
type none struct{}

// Resolver returns a resolver of the template. Every parameter must have a value or a default.
func (t Template) Resolver(d Deployment) (*Resolver, error) {
	r := &Resolver{t: t, d: d, parameters: map[string]any{}, evaluating: map[string]bool{}}
	for _, p := range t.Parameters() {
		value, given := d.Parameters[p.Name]
		switch {
		case !given && p.Default == nil:
			return nil, fmt.Errorf("parameter %s has no default; give it a value", p.Name)
		case !given:
			value = Text(p.Default)
		}
		switch p.Type {
		case "String", "Number":
			r.parameters[p.Name] = value
		case "CommaDelimitedList", "List<String>":
			r.parameters[p.Name] = commaSeparated(value)
		default:
			return nil, fmt.Errorf("parameter %s is of type %s, which this reader does not know", p.Name, p.Type)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Parameters)) {
		if _, there := t.Parameter(name); !there {
			return nil, fmt.Errorf("the template has no parameter %s", name)
		}
	}
	return r, nil
}

func commaSeparated(list string) []any {
	parts := []any{}
	for part := range strings.SplitSeq(list, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// Text returns a resolved value as CloudFormation writes it into a string: a string as it is, and
// anything else as JSON.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // values of a template have a JSON form
	return strings.TrimSuffix(b.String(), "\n")
}

// Resolve returns a value with every function in it evaluated; nil for AWS::NoValue.
func (r *Resolver) Resolve(v any) (any, error) {
	value, err := r.resolve(v)
	if _, gone := value.(none); gone {
		return nil, err
	}
	return value, err
}

func (r *Resolver) resolve(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 1 {
			for name, argument := range v {
				if name == "Ref" || strings.HasPrefix(name, "Fn::") {
					return r.call(name, argument)
				}
			}
		}
		return r.object(v)
	case []any:
		return r.list(v)
	}
	return v, nil
}

func (r *Resolver) object(v map[string]any) (any, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if strings.HasPrefix(name, "Fn::") {
			return nil, fmt.Errorf("%s has other members beside it", name)
		}
		value, err := r.resolve(v[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if _, gone := value.(none); !gone {
			out[name] = value
		}
	}
	return out, nil
}

func (r *Resolver) list(v []any) ([]any, error) {
	out := []any{}
	for _, element := range v {
		value, err := r.resolve(element)
		if err != nil {
			return nil, err
		}
		if _, gone := value.(none); !gone {
			out = append(out, value)
		}
	}
	return out, nil
}

func (r *Resolver) call(name string, argument any) (any, error) {
	switch name {
	case "Ref":
		return r.ref(Text(argument))
	case "Fn::GetAtt":
		return r.getAtt(argument)
	case "Fn::Sub":
		return r.sub(argument)
	case "Fn::If":
		return r.choose(argument)
	}
	arguments, err := r.resolve(argument)
	if err != nil {
		return nil, err
	}
	parts, ok := arguments.([]any)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: its argument is not a list", name)
	case name == "Fn::Join" && len(parts) == 2:
		return join(parts)
	case name == "Fn::Split" && len(parts) == 2:
		return split(parts), nil
	case name == "Fn::Select" && len(parts) == 2:
		return pick(parts)
	case name == "Fn::FindInMap" && len(parts) == 3:
		return r.find(parts)
	}
	return nil, fmt.Errorf("this reader does not know the function %s with %d arguments", name, len(parts))
}

func join(parts []any) (any, error) {
	elements, ok := parts[1].([]any)
	if !ok {
		return nil, fmt.Errorf("Fn::Join: its second argument is not a list")
	}
	var texts []string
	for _, e := range elements {
		texts = append(texts, Text(e))
	}
	return strings.Join(texts, Text(parts[0])), nil
}

func split(parts []any) any {
	out := []any{}
	for part := range strings.SplitSeq(Text(parts[1]), Text(parts[0])) {
		out = append(out, part)
	}
	return out
}

func pick(parts []any) (any, error) {
	elements, ok := parts[1].([]any)
	var n int
	if _, err := fmt.Sscan(Text(parts[0]), &n); err != nil || !ok || n < 0 || n >= len(elements) {
		return nil, fmt.Errorf("Fn::Select: there is no element %s", Text(parts[0]))
	}
	return elements[n], nil
}

func (r *Resolver) find(parts []any) (any, error) {
	at := r.t.Get("Mappings")
	for _, part := range parts {
		members, _ := at.(map[string]any)
		var there bool
		if at, there = members[Text(part)]; !there {
			return nil, fmt.Errorf("Fn::FindInMap: there is no value at %v", parts)
		}
	}
	return at, nil
}

func (r *Resolver) choose(argument any) (any, error) {
	parts, ok := argument.([]any)
	if !ok || len(parts) != 3 {
		return nil, fmt.Errorf("Fn::If takes three arguments")
	}
	holds, err := r.Holds(Text(parts[0]))
	if err != nil {
		return nil, err
	}
	if holds {
		return r.resolve(parts[1])
	}
	return r.resolve(parts[2])
}
