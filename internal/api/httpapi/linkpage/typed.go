package linkpage

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Read makes the answer of what was typed into the form. wrong says, by the name of a field, what
// is wrong with its value; the answer is none then. What concerns several fields at once isn't
// checked here.
func (f Form) Read(typed url.Values) (answer json.RawMessage, wrong map[string]string) {
	wrong = map[string]string{}
	root := map[string]any{}
	for _, one := range f.fields {
		value, problem := one.read(typed, f.begun(one, typed))
		switch {
		case problem != "":
			wrong[one.name] = problem
		case value == nil:
		case !f.object:
			answer = value
		default:
			place(root, one.path, value)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	if f.object {
		f.complete(root)
		answer = core.Encode(root)
	}
	return answer, nil
}

// place puts a value at a path of one or two names.
func place(root map[string]any, path []string, value json.RawMessage) {
	if len(path) == 1 {
		root[path[0]] = value
		return
	}
	inner, there := root[path[0]].(map[string]any)
	if !there {
		inner = map[string]any{}
		root[path[0]] = inner
	}
	inner[path[1]] = value
}

// complete adds the required objects none of whose members was filled in.
func (f Form) complete(root map[string]any) {
	for _, one := range f.fields {
		if len(one.path) == 2 && !one.within && root[one.path[0]] == nil {
			root[one.path[0]] = map[string]any{}
		}
	}
}

// begun says whether a member of the same object is filled in. What the members of an object need
// matters only if the object is there.
func (f Form) begun(of field, typed url.Values) bool {
	return !of.within || slices.ContainsFunc(f.fields, func(o field) bool {
		return len(o.path) == 2 && o.path[0] == of.path[0] && !o.blank(typed)
	})
}

// blank reports whether nothing was typed or chosen.
func (f field) blank(typed url.Values) bool {
	if f.kind == fieldSome {
		return !slices.ContainsFunc(f.indexes(), func(i int) bool { return typed.Get(f.option(i)) != "" })
	}
	return strings.TrimSpace(typed.Get(f.name)) == ""
}

func (f field) indexes() []int {
	all := make([]int, len(f.options))
	for i := range all {
		all[i] = i
	}
	return all
}

// read is the value of a field; nil if it has none.
func (f field) read(typed url.Values, begun bool) (value json.RawMessage, problem string) {
	if f.blank(typed) {
		switch {
		case !f.required || !begun:
			return nil, ""
		case f.nullable:
			return json.RawMessage("null"), ""
		case f.kind == fieldSome || f.kind == fieldLines:
			return f.fits(json.RawMessage("[]"))
		}
		return nil, "An answer is needed here."
	}
	value, problem = f.value(typed)
	if problem != "" {
		return nil, problem
	}
	return f.fits(value)
}

func (f field) value(typed url.Values) (value json.RawMessage, problem string) {
	text := strings.ReplaceAll(typed.Get(f.name), "\r\n", "\n") // a form's line breaks
	trimmed := strings.TrimSpace(text)
	switch f.kind {
	case fieldText:
		return core.Encode(text), ""
	case fieldLine:
		return core.Encode(trimmed), ""
	case fieldNumber:
		if !json.Valid([]byte(trimmed)) || !strings.ContainsRune("-0123456789", rune(trimmed[0])) {
			return nil, "Write a number, such as 12 or 12.5."
		}
		return json.RawMessage(trimmed), ""
	case fieldChoice:
		i, err := strconv.Atoi(trimmed)
		if err != nil || i < 0 || i >= len(f.options) {
			return nil, "Choose one of the options."
		}
		return f.options[i], ""
	case fieldSome:
		var chosen []json.RawMessage
		for i := range f.options {
			if typed.Get(f.option(i)) != "" {
				chosen = append(chosen, f.options[i])
			}
		}
		return core.Encode(chosen), ""
	case fieldLines:
		var all []string
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				all = append(all, line)
			}
		}
		return core.Encode(all), ""
	}
	if !json.Valid([]byte(trimmed)) {
		return nil, "Write JSON: put texts in double quotes, lists in [ ] and objects in { }."
	}
	return json.RawMessage(trimmed), ""
}

// fits holds a value against the field's part of the schema, so that the page can show next to the
// field what is wrong. A part that can't be read alone is left to the check of the whole answer.
func (f field) fits(value json.RawMessage) (json.RawMessage, string) {
	var schema jsonschema.Schema
	var v any
	if json.Unmarshal(f.schema, &schema) != nil || json.Unmarshal(value, &v) != nil {
		return value, ""
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return value, ""
	}
	if err := resolved.Validate(v); err != nil {
		return nil, "This doesn't fit: " + strings.TrimPrefix(err.Error(), "validating root: ")
	}
	return value, ""
}
