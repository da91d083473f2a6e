package template

import (
	"fmt"
	"strings"
)

// sub evaluates Fn::Sub, whose optional second argument defines additional names.
func (r *Resolver) sub(argument any) (any, error) {
	pattern, own := argument, map[string]any{}
	if parts, isList := argument.([]any); isList && len(parts) == 2 {
		pattern = parts[0]
		own, _ = parts[1].(map[string]any)
	}
	text, ok := pattern.(string)
	if !ok {
		return nil, fmt.Errorf("Fn::Sub: %v is not a string", pattern)
	}
	return substitute(text, func(name string) (string, error) {
		value, err := r.subName(name, own)
		return Text(value), err
	})
}

// substitute replaces every ${Name} and ${Name.Attribute} in a text by what value returns for the
// name. ${!literal} becomes ${literal}.
func substitute(text string, value func(name string) (string, error)) (string, error) {
	var out strings.Builder
	for rest := text; ; {
		before, after, more := strings.Cut(rest, "${")
		out.WriteString(before)
		if !more {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed {
			return "", fmt.Errorf("Fn::Sub: a ${ is not closed in %q", text)
		}
		rest = after
		if literal, is := strings.CutPrefix(name, "!"); is {
			out.WriteString("${" + literal + "}")
			continue
		}
		text, err := value(name)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
}

func (r *Resolver) subName(name string, own map[string]any) (any, error) {
	if value, there := own[name]; there {
		return r.Resolve(value)
	}
	if strings.Contains(name, ".") {
		return r.getAtt(name)
	}
	return r.ref(name)
}
