// Package template parses a SAM or CloudFormation template as CloudFormation does, and evaluates
// its intrinsic functions and conditions. It is the only parser of template.yaml: the end-to-end
// suites deploy what it returns, and its own tests check the template for errors that linters miss.
//
// It does not expand SAM resources; the SAM translator does that. It rejects everything that it
// does not support.
package template

import (
	"maps"
	"slices"
)

// Template is a template in which every short form is expanded: !Ref X is {"Ref": "X"}. Values are
// those of encoding/json, except that whole numbers are int. They must not be modified.
type Template struct{ root map[string]any }

// Get returns the value at a path from the top, such as "Outputs", "ApiUrl", "Value", or nil. An
// empty path returns the entire template.
func (t Template) Get(path ...string) any { return member(t.root, path...) }

// Parameter is a value that the template takes when it is deployed.
type Parameter struct {
	Name, Type     string
	Description    string
	Default        any // nil if every deployment must give a value
	AllowedValues  []any
	AllowedPattern string
	MaxLength      int // 0 for no limit
}

// Parameter returns the parameter of that name, and whether the template has it.
func (t Template) Parameter(name string) (Parameter, bool) {
	body, there := t.Get("Parameters", name).(map[string]any)
	p := Parameter{Name: name, Default: body["Default"], AllowedValues: List(body["AllowedValues"])}
	p.Type, _ = body["Type"].(string)
	p.Description, _ = body["Description"].(string)
	p.AllowedPattern, _ = body["AllowedPattern"].(string)
	p.MaxLength, _ = body["MaxLength"].(int)
	return p, there
}

// Parameters returns all parameters in the order of their names.
func (t Template) Parameters() (all []Parameter) {
	section, _ := t.Get("Parameters").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(section)) {
		p, _ := t.Parameter(name)
		all = append(all, p)
	}
	return all
}

// Resource is a resource, or an event of a function, which has the same shape.
type Resource struct {
	ID   string         // the logical id; for an event, FUNCTION.EVENT
	Body map[string]any // nil if there is no such resource
}

// Type returns the type, such as AWS::SQS::Queue; "" if there is no such resource.
func (r Resource) Type() string {
	kind, _ := r.Body["Type"].(string)
	return kind
}

// Condition returns the name of the condition on which the resource exists; "" if it always does.
func (r Resource) Condition() string {
	name, _ := r.Body["Condition"].(string)
	return name
}

// Get returns a property, or a member of one, as it is written; nil if it is not there.
func (r Resource) Get(path ...string) any { return member(r.Body["Properties"], path...) }

// Resource returns the resource with this logical id. It has no body if the template lacks it.
func (t Template) Resource(id string) Resource {
	body, _ := t.Get("Resources", id).(map[string]any)
	return Resource{id, body}
}

// Resources returns all resources in the order of their ids.
func (t Template) Resources() (all []Resource) {
	section, _ := t.Get("Resources").(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(section)) {
		all = append(all, t.Resource(id))
	}
	return all
}

// All returns the resources of a type in the order of their ids.
func (t Template) All(kind string) (found []Resource) {
	for _, r := range t.Resources() {
		if r.Type() == kind {
			found = append(found, r)
		}
	}
	return found
}

// Functions returns the functions of SAM in the order of their ids.
func (t Template) Functions() []Resource { return t.All("AWS::Serverless::Function") }

// Events returns the events of one type that invoke a function of SAM, in the order of their names.
func (r Resource) Events(kind string) (found []Resource) {
	events, _ := r.Get("Events").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(events)) {
		body, _ := events[name].(map[string]any)
		if e := (Resource{r.ID + "." + name, body}); e.Type() == kind {
			found = append(found, e)
		}
	}
	return found
}

// member returns the value at a path below v; nil if there is none.
func member(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// List returns the elements of what a template may write as one value or as a list of them.
func List(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	if v == nil {
		return nil
	}
	return []any{v}
}
