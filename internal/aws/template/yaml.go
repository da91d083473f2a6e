package template

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads a template from YAML or JSON. As in CloudFormation, a name must not occur twice in a
// map, there are no aliases, and a date is a string.
func Parse(text []byte) (Template, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return Template{}, err
	}
	if len(document.Content) != 1 {
		return Template{}, errors.New("the template is empty")
	}
	root, err := value(document.Content[0])
	if err != nil {
		return Template{}, err
	}
	m, ok := root.(map[string]any)
	if !ok {
		return Template{}, errors.New("a template is a map of sections")
	}
	return Template{m}, nil
}

// value converts a node, and expands short forms.
func value(n *yaml.Node) (any, error) {
	if !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
		return content(n)
	}
	inner := *n
	inner.Tag = ""
	v, err := content(&inner)
	switch name := n.Tag[1:]; name {
	case "Ref", "Condition":
		return map[string]any{name: v}, err
	case "GetAtt":
		if dotted, ok := v.(string); ok {
			id, attribute, _ := strings.Cut(dotted, ".")
			v = []any{id, attribute}
		}
		fallthrough
	default:
		return map[string]any{"Fn::" + name: v}, err
	}
}

// content converts a node whose tag has no meaning for CloudFormation.
func content(n *yaml.Node) (any, error) {
	switch {
	case n.Kind == yaml.MappingNode:
		return members(n)
	case n.Kind == yaml.SequenceNode:
		return elements(n)
	case n.Kind == yaml.AliasNode:
		return nil, fmt.Errorf("line %d: CloudFormation does not support aliases; expand *%s", n.Line, n.Value)
	case n.ShortTag() == "!!timestamp":
		return n.Value, nil
	}
	var v any
	err := n.Decode(&v)
	return v, err
}

func elements(n *yaml.Node) (any, error) {
	all := []any{}
	for _, c := range n.Content {
		v, err := value(c)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func members(n *yaml.Node) (any, error) {
	all := map[string]any{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("line %d: %s occurs twice", n.Content[i].Line, name)
		}
		v, err := value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		all[name] = v
	}
	return all, nil
}
