package awsdouble

import "slices"

// apply makes the item that an update leaves. Every right-hand side sees the item as it was before.
func apply(it item, actions []action) (item, error) {
	was := it
	for _, a := range inOrder(actions) {
		put, change, err := a.result(was)
		if err != nil {
			return nil, err
		}
		if !change {
			continue
		}
		v, err := value{kind: "M", fields: it}.with(a.target, put)
		if err != nil {
			return nil, err
		}
		it = v.fields
	}
	return it, nil
}

// inOrder sorts what writes into lists by index and puts removals last, from the end: every index
// means the list as it was.
func inOrder(actions []action) []action {
	sorted := slices.Clone(actions)
	slices.SortStableFunc(sorted, func(a, b action) int {
		if (a.verb == "REMOVE") != (b.verb == "REMOVE") {
			if a.verb == "REMOVE" {
				return 1
			}
			return -1
		}
		order := slices.CompareFunc(a.target, b.target, func(x, y pathStep) int { return x.index - y.index })
		if a.verb == "REMOVE" {
			return -order
		}
		return order
	})
	return sorted
}

// result is what the action puts at its target; nil removes. change is false if it leaves all as it
// is.
func (a action) result(was item) (put *value, change bool, err error) {
	now, there := was.get(a.target)
	switch {
	case a.verb == "REMOVE", a.verb == "DELETE" && !there:
		// what the target stands in must be there
		return nil, there || len(a.target) > 1, nil
	}
	switch a.verb {
	case "ADD":
		return add(now, there, *a.to.leaf.literal)
	case "DELETE":
		return subtract(now, *a.to.leaf.literal)
	}
	v, err := a.to.value(was)
	return &v, true, err
}

func wrongOperand() *apiError {
	return invalid("An operand in the update expression has an incorrect data type")
}

func add(now value, there bool, v value) (*value, bool, error) {
	switch {
	case !there:
		return &v, true, nil
	case now.kind != v.kind:
		return nil, false, wrongOperand()
	case v.kind == "N":
		sum, err := now.number.plus(v.number)
		return &value{kind: "N", number: sum}, true, err
	}
	sum := value{kind: v.kind, list: slices.Clone(now.list)}
	for _, m := range v.list {
		if !sum.has(m) {
			sum.list = append(sum.list, m)
		}
	}
	return &sum, true, nil
}

// subtract removes members of a set; a set that is left empty goes.
func subtract(now, v value) (*value, bool, error) {
	if now.kind != v.kind {
		return nil, false, wrongOperand()
	}
	left := value{kind: now.kind, list: slices.DeleteFunc(slices.Clone(now.list), v.has)}
	if len(left.list) == 0 {
		return nil, true, nil
	}
	return &left, true, nil
}

func (e expression) value(was item) (value, error) {
	switch e.op {
	case "":
		v, ok := e.leaf.in(was)
		if !ok {
			return v, invalid("The provided expression refers to an attribute that does not exist in the item")
		}
		return v, nil
	case "if_not_exists":
		if v, ok := was.get(e.of[0].leaf.path); ok {
			return v, nil
		}
		return e.of[1].value(was)
	}
	a, err := e.of[0].value(was)
	if err != nil {
		return a, err
	}
	b, err := e.of[1].value(was)
	if err != nil {
		return b, err
	}
	return combine(e.op, a, b)
}

func combine(op string, a, b value) (value, error) {
	if op == "list_append" {
		if a.kind != "L" || b.kind != "L" {
			return a, wrongOperand()
		}
		return value{kind: "L", list: slices.Concat(a.list, b.list)}, nil
	}
	if a.kind != "N" || b.kind != "N" {
		return a, wrongOperand()
	}
	combined, err := a.number.plus(b.number)
	if op == "-" {
		combined, err = a.number.minus(b.number)
	}
	return value{kind: "N", number: combined}, err
}
