package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Unjudged names the tools whose schema lets a service or another agent be sent arguments that it
// does not name, although a rule decides by what the arguments are: no rule is asked about the
// others. policy may be nil.
func (d Definition) Unjudged(policy *Permissions) (notes []string) {
	for _, t := range d.Tools {
		where := openAt(DecodeValue(t.Parameters), "")
		if !t.forwards() || where == nil {
			continue
		}
		asked := d.Permissions.asksAbout(d.Subject(t.Name))
		if policy != nil {
			asked = append(asked, policy.asksAbout(d.Subject(t.Name))...)
		}
		if len(asked) == 0 {
			continue
		}
		slices.Sort(asked)
		reader := "service"
		if t.Agent != nil {
			reader = "agent"
		}
		notes = append(notes, fmt.Sprintf("tool %[1]q sends its %[4]s members that its parameters don't name (additionalProperties, %[2]s), "+
			"but rules check only %[3]s; name every member that the %[4]s reads, and set additionalProperties: false",
			t.Name, strings.Join(where, ", "), strings.Join(slices.Compact(asked), ", "), reader))
	}
	return notes
}

// asksAbout are the arguments by which rules decide about a tool.
func (p Permissions) asksAbout(s subject) (arguments []string) {
	for _, r := range slices.Concat(p.Block, p.Deny, p.Ask, p.Allow) {
		if r.aimed(s, nil) == no {
			continue
		}
		for _, c := range r.When {
			arguments = append(arguments, cmp.Or(c.Argument, "its text"))
		}
	}
	return arguments
}

// openAt are the places in a schema that let members through without a name, as a reader finds
// them.
func openAt(schema any, place string) (where []string) {
	object, _ := schema.(map[string]any)
	for _, word := range []string{"additionalProperties", "unevaluatedProperties"} {
		if more, said := object[word]; said && more != false {
			where = append(where, cmp.Or(place, "at the top"))
		}
	}
	properties, _ := object["properties"].(map[string]any)
	for name, sub := range properties {
		where = append(where, openAt(sub, joinPath(place, name))...)
	}
	for _, sub := range named(object, "patternProperties") {
		where = append(where, openAt(sub, joinPath(place, "*"))...)
	}
	for _, sub := range append(members(object, "items", "contains"), listed(object, "prefixItems", "items")...) {
		where = append(where, openAt(sub, place+"[]")...)
	}
	for _, sub := range append(beside(object), named(object, "$defs", "definitions")...) {
		where = append(where, openAt(sub, place)...)
	}
	slices.Sort(where)
	return slices.Compact(where)
}
