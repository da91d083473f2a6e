package template

import "fmt"

// Holds evaluates a condition by its name; "" always holds.
func (r *Resolver) Holds(name string) (bool, error) {
	if name == "" {
		return true, nil
	}
	condition := r.t.Get("Conditions", name)
	switch {
	case condition == nil:
		return false, fmt.Errorf("there is no condition %s", name)
	case r.evaluating[name]:
		return false, fmt.Errorf("condition %s refers to itself", name)
	}
	r.evaluating[name] = true
	defer delete(r.evaluating, name)
	return r.test(condition)
}

func (r *Resolver) test(condition any) (bool, error) {
	members, ok := condition.(map[string]any)
	if !ok || len(members) != 1 {
		return false, fmt.Errorf("a condition is one function, not %v", condition)
	}
	for name, argument := range members {
		if name == "Condition" {
			return r.Holds(Text(argument))
		}
		parts, ok := argument.([]any)
		if !ok {
			return false, fmt.Errorf("%s: its argument is not a list", name)
		}
		return r.logic(name, parts)
	}
	return false, nil
}

func (r *Resolver) logic(name string, parts []any) (bool, error) {
	switch {
	case name == "Fn::Equals" && len(parts) == 2:
		a, err := r.Resolve(parts[0])
		if err != nil {
			return false, err
		}
		b, err := r.Resolve(parts[1])
		return Text(a) == Text(b), err
	case name == "Fn::Not" && len(parts) == 1:
		holds, err := r.test(parts[0])
		return !holds, err
	case name == "Fn::And", name == "Fn::Or":
		for _, part := range parts {
			holds, err := r.test(part)
			if err != nil || holds == (name == "Fn::Or") {
				return holds, err
			}
		}
		return name == "Fn::And", nil
	}
	return false, fmt.Errorf("this reader does not know the condition %s with %d arguments", name, len(parts))
}
