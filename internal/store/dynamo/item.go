package dynamo

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is the content of a DynamoDB item, by attribute.
type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func bytesOf(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func mapOf(m item) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }

// textAt and numberAt read an attribute. A missing attribute, or one of another type, is the zero
// value.
func textAt(it item, name string) string {
	v, ok := it[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return v.Value
}

func numberAt(it item, name string) int64 {
	v, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func bytesAt(it item, name string) []byte {
	v, ok := it[name].(*types.AttributeValueMemberB)
	if !ok {
		return nil
	}
	return v.Value
}

func mapAt(it item, name string) item {
	v, ok := it[name].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}
	return v.Value
}

func keyOf(it item) key { return key{textAt(it, attrPK), textAt(it, attrSK)} }

// expression collects the names and values in the expressions of one request. Every name goes
// through an alias, because many short words are reserved and ids may contain any character.
type expression struct {
	names  map[string]string
	values item
}

// in returns s with each {name} replaced by its alias.
func (e *expression) in(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(e.alias(name, name))
		s = after
	}
}

// alias defines #short as an alias of name.
func (e *expression) alias(short, name string) string {
	if e.names == nil {
		e.names = map[string]string{}
	}
	e.names["#"+short] = name
	return "#" + short
}

// value defines :short as v.
func (e *expression) value(short string, v types.AttributeValue) string {
	if e.values == nil {
		e.values = item{}
	}
	e.values[":"+short] = v
	return ":" + short
}

// update is an UpdateItem request that is being built.
type update struct {
	expression
	key     key
	sets    []string
	adds    []string
	removes []string
	when    []string
}

func (u *update) set(name string, v types.AttributeValue) {
	u.sets = append(u.sets, u.in("{"+name+"} = ")+u.value(name, v))
}

// put sets an attribute, or removes it if v is nil.
func (u *update) put(name string, v types.AttributeValue) {
	if v == nil {
		u.remove(name)
		return
	}
	u.set(name, v)
}

func (u *update) add(name string, n int64) {
	u.adds = append(u.adds, u.in("{"+name+"} ")+u.value("add_"+name, number(n)))
}

func (u *update) remove(name string) { u.removes = append(u.removes, u.in("{"+name+"}")) }

// require adds a condition. Its values are defined by value.
func (u *update) require(condition string) { u.when = append(u.when, u.in(condition)) }

func (u *update) condition() *string {
	if len(u.when) == 0 {
		return nil
	}
	all := "(" + strings.Join(u.when, ") AND (") + ")"
	return &all
}

func (u *update) changes() *string {
	var clauses []string
	for _, c := range []struct {
		word  string
		parts []string
	}{{"SET ", u.sets}, {"REMOVE ", u.removes}, {"ADD ", u.adds}} {
		if len(c.parts) > 0 {
			clauses = append(clauses, c.word+strings.Join(c.parts, ", "))
		}
	}
	all := strings.Join(clauses, " ")
	return &all
}
