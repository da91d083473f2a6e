package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// resolver evaluates the functions of CloudFormation. Whatever it does not know is an error that names it: a value left as it is would look
// like one that was resolved.
type resolver struct {
	o          Options
	parameters map[string]any
	mappings   map[string]any
	conditions map[string]any
	resources  map[string]resource
	asking     map[string]bool // conditions under evaluation, against a circle
}

type resource struct {
	Type       string
	Condition  string
	Properties map[string]any
}

// none is AWS::NoValue: the member or element that has it is not there.
type none struct{}

type template struct {
	Parameters map[string]struct {
		Type    string
		Default any
	}
	Mappings   map[string]any
	Conditions map[string]any
	Resources  map[string]resource
}

func newResolver(cloud []byte, o Options) (*resolver, error) {
	var t template
	d := json.NewDecoder(bytes.NewReader(cloud))
	d.UseNumber()
	if err := d.Decode(&t); err != nil {
		return nil, fmt.Errorf("the translated template: %w", err)
	}
	r := &resolver{o: o, parameters: map[string]any{}, mappings: t.Mappings, conditions: t.Conditions, resources: t.Resources, asking: map[string]bool{}}
	for name, p := range t.Parameters {
		value, given := o.Parameters[name]
		switch {
		case !given && p.Default == nil:
			return nil, fmt.Errorf("parameter %s has no default; give it a value", name)
		case !given:
			value = text(p.Default)
		}
		switch p.Type {
		case "String", "Number":
			r.parameters[name] = value
		case "CommaDelimitedList", "List<String>":
			r.parameters[name] = list(value)
		default:
			return nil, fmt.Errorf("parameter %s is of type %s, which this reader does not know", name, p.Type)
		}
	}
	for name := range o.Parameters {
		if _, there := t.Parameters[name]; !there {
			return nil, fmt.Errorf("the template has no parameter %s", name)
		}
	}
	return r, nil
}

func list(commas string) []any {
	parts := []any{}
	for part := range strings.SplitSeq(commas, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// text is a scalar as CloudFormation writes it into a string.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	}
	raw, _ := json.Marshal(v) // it came out of JSON
	return string(raw)
}

// resolve returns the value with every function in it evaluated.
func (r *resolver) resolve(v any) (any, error) {
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

func (r *resolver) object(v map[string]any) (any, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if strings.HasPrefix(name, "Fn::") {
			return nil, fmt.Errorf("%s stands beside other members", name)
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

func (r *resolver) list(v []any) ([]any, error) {
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

func (r *resolver) call(name string, argument any) (any, error) {
	switch name {
	case "Ref":
		return r.ref(text(argument))
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
		return nil, fmt.Errorf("%s: its argument is no list", name)
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
		return nil, fmt.Errorf("Fn::Join: its second argument is no list")
	}
	var texts []string
	for _, e := range elements {
		texts = append(texts, text(e))
	}
	return strings.Join(texts, text(parts[0])), nil
}

func split(parts []any) any {
	out := []any{}
	for part := range strings.SplitSeq(text(parts[1]), text(parts[0])) {
		out = append(out, part)
	}
	return out
}

func pick(parts []any) (any, error) {
	elements, ok := parts[1].([]any)
	var n int
	if _, err := fmt.Sscan(text(parts[0]), &n); err != nil || !ok || n < 0 || n >= len(elements) {
		return nil, fmt.Errorf("Fn::Select: there is no element %s", text(parts[0]))
	}
	return elements[n], nil
}

func (r *resolver) find(parts []any) (any, error) {
	var at any = r.mappings
	for _, part := range parts {
		members, _ := at.(map[string]any)
		var there bool
		if at, there = members[text(part)]; !there {
			return nil, fmt.Errorf("Fn::FindInMap: there is nothing at %v", parts)
		}
	}
	return at, nil
}

func (r *resolver) choose(argument any) (any, error) {
	parts, ok := argument.([]any)
	if !ok || len(parts) != 3 {
		return nil, fmt.Errorf("Fn::If takes three arguments")
	}
	holds, err := r.holds(text(parts[0]))
	if err != nil {
		return nil, err
	}
	if holds {
		return r.resolve(parts[1])
	}
	return r.resolve(parts[2])
}
