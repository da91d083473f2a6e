package awsdouble

import (
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// holds says whether the item meets the condition; no condition is met by every item, and by none
// at all.
func (c *condition) holds(it item) bool {
	if c == nil {
		return true
	}
	switch c.op {
	case "AND":
		return c.of[0].holds(it) && c.of[1].holds(it)
	case "OR":
		return c.of[0].holds(it) || c.of[1].holds(it)
	case "NOT":
		return !c.of[0].holds(it)
	case "attribute_exists", "attribute_not_exists":
		_, ok := it.get(c.operands[0].path)
		return ok == (c.op == "attribute_exists")
	}
	return c.compares(it)
}

// compares is for what needs its operands to be there. A missing one makes everything false but <>.
func (c *condition) compares(it item) bool {
	values := make([]value, len(c.operands))
	for i, o := range c.operands {
		v, ok := o.in(it)
		if !ok && c.op != "IN" {
			return c.op == "<>"
		}
		values[i] = v
	}
	a, b := values[0], values[min(1, len(values)-1)]
	switch c.op {
	case "=":
		return a.equal(b)
	case "<>":
		return !a.equal(b)
	case "BETWEEN":
		return less(b, a, true) && less(a, values[2], true)
	case "IN":
		return a.kind != "" && slices.ContainsFunc(values[1:], a.equal)
	case "attribute_type":
		return a.kind == b.text
	case "begins_with":
		return a.kind == b.kind && strings.HasPrefix(a.text, b.text) && (a.kind == "S" || a.kind == "B")
	case "contains":
		return contains(a, b)
	case ">", ">=":
		return less(b, a, c.op == ">=")
	}
	return less(a, b, c.op == "<=")
}

func less(a, b value, orEqual bool) bool {
	if a.kind != b.kind || !ordered(a.kind) {
		return false
	}
	order := a.compare(b)
	return order < 0 || orEqual && order == 0
}

func contains(whole, part value) bool {
	if whole.kind == "S" || whole.kind == "B" {
		return whole.kind == part.kind && strings.Contains(whole.text, part.text)
	}
	return whole.has(part)
}

// in is the operand's value in the item, and whether it has one there.
func (o operand) in(it item) (value, bool) {
	v, ok := value{}, true
	if o.literal != nil {
		v = *o.literal
	} else if v, ok = it.get(o.path); !ok {
		return v, false
	}
	if !o.size {
		return v, true
	}
	return v.length()
}

// length is what size() says. Numbers, booleans and nulls have none.
func (v value) length() (value, bool) {
	n := 0
	switch v.kind {
	case "S":
		n = utf8.RuneCountInString(v.text)
	case "B":
		n = len(v.text)
	case "SS", "NS", "BS", "L":
		n = len(v.list)
	case "M":
		n = len(v.fields)
	default:
		return value{}, false
	}
	return count(n), true
}

func count(n int) value {
	v, _ := newNumber(big.NewInt(int64(n)), 0) // a count has few digits
	return value{kind: "N", number: v}
}
