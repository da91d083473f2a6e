package dormouse_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// template is template.yaml as CloudFormation reads it: a short form such as !Ref X stands as the map it means, {"Ref": "X"}.
type template struct{ root map[string]any }

func readTemplate(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parseTemplate(text string) (template, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return template{}, err
	}
	if len(document.Content) != 1 {
		return template{}, fmt.Errorf("%d documents; write one", len(document.Content))
	}
	root, err := plain(document.Content[0])
	if err != nil {
		return template{}, err
	}
	m, _ := root.(map[string]any)
	return template{m}, nil
}

// plain is a node without tags.
func plain(n *yaml.Node) (any, error) {
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

func content(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		return members(n)
	case yaml.SequenceNode:
		all := []any{}
		for _, c := range n.Content {
			v, err := plain(c)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}
	var v any
	err := n.Decode(&v)
	return v, err
}

func members(n *yaml.Node) (any, error) {
	all := map[string]any{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("line %d: %s is there twice", n.Content[i].Line, name)
		}
		v, err := plain(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		all[name] = v
	}
	return all, nil
}

// resource is one, by its logical id.
type resource struct {
	id   string
	body map[string]any
}

// get is a property, or a member of one; nil if it is not there.
func (r resource) get(path ...string) any { return dig(r.body["Properties"], path...) }

func (t template) resource(id string) resource {
	body, _ := dig(t.root, "Resources", id).(map[string]any)
	return resource{id, body}
}

// all are the resources of a type, in the order of their ids.
func (t template) all(kind string) (found []resource) {
	resources, _ := t.root["Resources"].(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(resources)) {
		if r := t.resource(id); r.body["Type"] == kind {
			found = append(found, r)
		}
	}
	return found
}

func (t template) functions() []resource { return t.all("AWS::Serverless::Function") }

// events are what calls a function, of one type.
func (r resource) events(kind string) (found []resource) {
	events, _ := r.get("Events").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(events)) {
		if body, _ := events[name].(map[string]any); body["Type"] == kind {
			found = append(found, resource{r.id + "." + name, body})
		}
	}
	return found
}

func dig(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// refOf is what a reference names, "" if v is none.
func refOf(v any) string {
	name, _ := dig(v, "Ref").(string)
	return name
}

// attributeOf is the resource whose attribute v is, "" if it is not that attribute of any.
func attributeOf(v any, attribute string) string {
	pair, _ := dig(v, "Fn::GetAtt").([]any)
	if len(pair) != 2 || pair[1] != attribute {
		return ""
	}
	id, _ := pair[0].(string)
	return id
}

// listOf makes a list of what may be one thing or a list.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	if v == nil {
		return nil
	}
	return []any{v}
}

// walk shows every value below v to see, with its key; the elements of a list have the key of the list.
func walk(key string, v any, see func(key string, v any)) {
	see(key, v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(name, v[name], see)
		}
	case []any:
		for _, one := range v {
			walk(key, one, see)
		}
	}
}

// values are all that an expression can be: a number as it is, a parameter's allowed values, and a mapping by a parameter, in whose order.
// by is the parameter, "" for a number. A value that the mapping lacks is -1.
func (t template) values(v any) (by string, all []int) {
	if n, ok := v.(int); ok {
		return "", []int{n}
	}
	if by = refOf(v); by != "" {
		return by, t.allowed(by)
	}
	find, _ := dig(v, "Fn::FindInMap").([]any)
	if len(find) != 3 {
		return "", nil
	}
	by = refOf(find[1])
	for _, n := range t.allowed(by) {
		m, ok := dig(t.root, "Mappings", fmt.Sprint(find[0]), fmt.Sprint(n), fmt.Sprint(find[2])).(int)
		if !ok {
			m = -1
		}
		all = append(all, m)
	}
	return by, all
}

func (t template) allowed(parameter string) (all []int) {
	for _, v := range listOf(dig(t.root, "Parameters", parameter, "AllowedValues")) {
		n, _ := v.(int)
		all = append(all, n)
	}
	return all
}
