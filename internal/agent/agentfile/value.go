package agentfile

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// value reads n as a JSON value; numbers that JSON can write keep every digit. A value without a
// JSON form is reported and becomes null.
func (s *source) value(n *yaml.Node) json.RawMessage { return core.Encode(s.any(n)) }

func (s *source) any(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		return s.anyMap(n)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = s.any(item)
		}
		return list
	case yaml.ScalarNode:
		return s.scalar(n)
	}
	s.Refuse(n, "this is %s", strictyaml.KindOf(n))
	return nil
}

func (s *source) anyMap(n *yaml.Node) any {
	members := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			s.Refuse(key, "a key must be plain text")
			continue
		}
		if _, twice := members[key.Value]; twice {
			s.Refuse(key, "%q is given twice; keep one", key.Value)
			continue
		}
		members[key.Value] = s.any(n.Content[i+1])
	}
	return members
}

func (s *source) scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!str", "!!timestamp": // a date is text, as in JSON
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return b
		}
	case "!!int", "!!float":
		if number, ok := jsonNumber(n); ok {
			return number
		}
	}
	s.Refuse(n, "%q has no JSON form; put it in quotes if it is text", n.Value)
	return nil
}

var plainNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// jsonNumber keeps the digits of numbers in JSON's form, and converts YAML's other forms (0x1F,
// 1_000, .5).
func jsonNumber(n *yaml.Node) (json.Number, bool) {
	if plainNumber.MatchString(n.Value) {
		return json.Number(n.Value), true
	}
	if i, ok := new(big.Int).SetString(n.Value, 0); ok {
		return json.Number(i.String()), true
	}
	var f float64
	if n.Decode(&f) != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
}
