package awsdouble

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// value is one attribute value. Values and items are never changed in place, so whoever holds one
// holds what it was.
type value struct {
	kind   string           // S N B BOOL NULL SS NS BS L M
	text   string           // of S, and the bytes of B
	number number           // of N
	truth  bool             // of BOOL
	list   []value          // of L, and the members of a set
	fields map[string]value // of M
}

type item map[string]value

var setMember = map[string]string{"SS": "S", "NS": "N", "BS": "B"}

func (v *value) UnmarshalJSON(raw []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if len(m) == 0 {
		return invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	}
	if len(m) > 1 {
		return invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	for kind, body := range m {
		read, err := readValue(kind, body)
		*v = read
		return err
	}
	return nil
}

func readValue(kind string, raw []byte) (value, error) {
	v := value{kind: kind}
	switch kind {
	case "S", "N", "B":
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return v, err
		}
		return scalar(kind, s)
	case "SS", "NS", "BS":
		return readSet(kind, raw)
	case "BOOL", "NULL":
		err := json.Unmarshal(raw, &v.truth)
		if err == nil && kind == "NULL" && !v.truth {
			err = invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
		return v, err
	case "L":
		err := json.Unmarshal(raw, &v.list)
		return v, err
	case "M":
		err := json.Unmarshal(raw, &v.fields)
		return v, err
	}
	return v, unknown("an attribute value of type %s; the double knows those of the developer guide", kind)
}

func scalar(kind, s string) (value, error) {
	v := value{kind: kind, text: s}
	var err error
	switch kind {
	case "N":
		v.text = ""
		v.number, err = parseNumber(s)
	case "B":
		var raw []byte
		raw, err = base64.StdEncoding.DecodeString(s)
		v.text = string(raw)
	}
	return v, err
}

func readSet(kind string, raw []byte) (value, error) {
	var members []string
	if err := json.Unmarshal(raw, &members); err != nil {
		return value{}, err
	}
	if len(members) == 0 {
		return value{}, invalid("One or more parameter values were invalid: An set may not be empty")
	}
	v := value{kind: kind}
	for _, s := range members {
		member, err := scalar(setMember[kind], s)
		if err != nil {
			return value{}, err
		}
		if v.has(member) {
			return value{}, invalid("One or more parameter values were invalid: Input collection [%s] contains duplicates.", joined(members))
		}
		v.list = append(v.list, member)
	}
	return v, nil
}

func (v value) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{v.kind: v.plain()}) }

func (v value) plain() any {
	switch v.kind {
	case "S":
		return v.text
	case "N":
		return v.number.String()
	case "B":
		return []byte(v.text)
	case "BOOL", "NULL":
		return v.truth
	case "M":
		return v.fields
	case "L":
		return append([]value{}, v.list...)
	}
	members := make([]any, len(v.list))
	for i, m := range v.list {
		members[i] = m.plain()
	}
	return members
}

func (v value) equal(o value) bool {
	if v.kind != o.kind {
		return false
	}
	switch v.kind {
	case "N":
		return v.number.compare(o.number) == 0
	case "L":
		return slices.EqualFunc(v.list, o.list, value.equal)
	case "M":
		return maps.EqualFunc(v.fields, o.fields, value.equal)
	case "SS", "NS", "BS":
		return len(v.list) == len(o.list) && !slices.ContainsFunc(v.list, func(m value) bool { return !o.has(m) })
	}
	return v.text == o.text && v.truth == o.truth
}

// has says whether a list or set contains the member.
func (v value) has(member value) bool { return slices.ContainsFunc(v.list, member.equal) }

// ordered says whether values of the kind can be told which is less.
func ordered(kind string) bool { return kind == "S" || kind == "N" || kind == "B" }

// compare is for two values of one ordered kind. Strings go by their UTF-8 bytes.
func (v value) compare(o value) int {
	if v.kind == "N" {
		return v.number.compare(o.number)
	}
	return strings.Compare(v.text, o.text)
}

// code is a key attribute's value as a key of a Go map.
func (v value) code() string {
	if v.kind == "N" {
		return "N" + v.number.String()
	}
	return v.kind + v.text
}

// size is as DynamoDB bills it: three bytes for a list or map and one for each of its members.
func (v value) size() int {
	size := 0
	switch v.kind {
	case "S", "B":
		return len(v.text)
	case "N":
		return v.number.size()
	case "BOOL", "NULL":
		return 1
	case "L", "M":
		size = 3 + len(v.list) + len(v.fields)
	}
	for _, m := range v.list {
		size += m.size()
	}
	return size + item(v.fields).size()
}

func (it item) size() int {
	size := 0
	for name, v := range it {
		size += len(name) + v.size()
	}
	return size
}

func (it item) equal(o item) bool { return maps.EqualFunc(it, o, value.equal) }

// depth is how many lists and maps stand in each other.
func (v value) depth() int {
	if v.kind != "L" && v.kind != "M" {
		return 0
	}
	deepest := 0
	for _, m := range v.list {
		deepest = max(deepest, m.depth())
	}
	for _, m := range v.fields {
		deepest = max(deepest, m.depth())
	}
	return deepest + 1
}
