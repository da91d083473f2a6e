package template

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// refOf is what a reference names, "" if v is none.
func refOf(v any) string {
	name, _ := member(v, "Ref").(string)
	return name
}

// attributeOf is the resource whose attribute v is, "" if it is not that attribute of any.
func attributeOf(v any, attribute string) string {
	if id, name, ok := splitAttribute(member(v, "Fn::GetAtt")); ok && name == attribute {
		return id
	}
	return ""
}

// walk shows every value below v to see, with its key; the elements of a list have the key of the
// list.
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

// values are all numbers that an expression can be: a number as it is, or what the expression
// becomes with each value that its parameter allows, in their order. by is the parameter, "" for a
// number. There are none if one of them cannot be resolved to a number.
func (t Template) values(v any) (by string, all []int) {
	if n, ok := v.(int); ok {
		return "", []int{n}
	}
	walk("", v, func(_ string, v any) { by = cmp.Or(by, refOf(v)) })
	p, _ := t.Parameter(by)
	for _, allowed := range p.AllowedValues {
		r, err := t.Resolver(Deployment{Parameters: map[string]string{by: Text(allowed)}})
		if err != nil {
			return by, nil
		}
		value, err := r.Resolve(v)
		if err != nil {
			return by, nil
		}
		n, err := strconv.Atoi(Text(value))
		if err != nil {
			return by, nil
		}
		all = append(all, n)
	}
	return by, all
}
