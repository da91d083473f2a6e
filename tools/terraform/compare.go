package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// attachmentsByContent gives policies of a role, which conditions choose, addresses by what
// they are.
func attachmentsByContent(all map[string]object) map[string]object {
	out := map[string]object{}
	for address, of := range all {
		if strings.HasPrefix(address, kinds["Attachment"].to+".") {
			address = fmt.Sprint(kinds["Attachment"].to, of)
		}
		out[address] = of
	}
	return out
}

// expected are the attributes and blocks that properties of a deployment make.
func expected(f fields, properties object) object {
	out := object{}
	for name, value := range properties {
		field, is := f[name]
		if !is {
			wrong("%s is in no attribute", name)
		}
		if value == nil || absent(value) {
			continue
		}
		switch {
		case field.members == nil:
			if v := normal(value); v != nil {
				out[field.to] = v
			}
		case list(value) != nil:
			for _, v := range list(value) {
				out[field.to] = append(list(out[field.to]), expected(field.members, v.(object)))
			}
		default:
			out[field.to] = []any{expected(field.members, value.(object))}
		}
	}
	return out
}

// normal is a value without what is empty, with numbers and truths as text, and with JSON read.
func normal(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, of := range v {
			if n := normal(of); n != nil {
				out[name] = n
			}
		}
		return out
	case []any:
		var out []any
		for _, of := range v {
			out = append(out, normal(of))
		}
		if out == nil {
			return nil
		}
		return out
	case nil:
		return nil
	case string:
		var of any
		d := json.NewDecoder(strings.NewReader(v))
		d.UseNumber()
		if strings.HasPrefix(v, "{") && d.Decode(&of) == nil {
			return normal(of)
		}
		return v
	}
	return fmt.Sprint(v)
}

// differ is the first difference of two values, and where it is.
func differ(path string, want, got any) string {
	w, isObject := want.(object)
	o, is := got.(object)
	if isObject && is {
		for _, name := range slices.Sorted(maps.Keys(merged(w, o))) {
			if diff := differ(path+"."+name, w[name], o[name]); diff != "" {
				return diff
			}
		}
		return ""
	}
	l, r := list(want), list(got)
	if l != nil && len(l) == len(r) {
		for i := range l {
			if diff := differ(fmt.Sprintf("%s[%d]", path, i), l[i], r[i]); diff != "" {
				return diff
			}
		}
		return ""
	}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("%s is %v in the template and %v in the module", path, want, got)
}

func merged(a, b object) object {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
