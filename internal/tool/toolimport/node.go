package toolimport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// deepest limits how deeply values are nested.
const deepest = 60

// errHidden reports characters that a reader of the agent file would not see, although they decide
// what an agent may do.
var errHidden = errors.New("its schema contains invisible characters, so that a reader could not see what it allows")

// prose lists the members whose text only explains. Invisible characters are escaped there;
// elsewhere an escape would change the meaning.
var prose = map[string]bool{"description": true, "title": true, "$comment": true}

// nodeOf converts a JSON value to YAML. It keeps the order of members and the spelling of numbers.
func nodeOf(raw json.RawMessage) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return readNode(dec, "", 0)
}

func readNode(dec *json.Decoder, member string, depth int) (*yaml.Node, error) {
	if depth > deepest {
		return nil, fmt.Errorf("it is nested deeper than %d levels", deepest)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			return readList(dec, depth)
		}
		return readMapping(dec, member, depth)
	case json.Number:
		return number(v), nil
	case string:
		return textNode(v, member)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}

func number(n json.Number) *yaml.Node {
	tag := "!!int"
	if strings.ContainsAny(n.String(), ".eE") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: n.String()}
}

func readList(dec *json.Decoder, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	plain := true
	for dec.More() {
		item, err := readNode(dec, "", depth+1)
		if err != nil {
			return nil, err
		}
		plain = plain && item.Kind == yaml.ScalarNode && len(item.Value) < 40
		n.Content = append(n.Content, item)
	}
	if plain && len(n.Content) <= 10 {
		n.Style = yaml.FlowStyle
	}
	_, err := dec.Token()
	return n, err
}

func readMapping(dec *json.Decoder, member string, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, err := textNode(name.(string), "")
		if err != nil {
			return nil, err
		}
		inside := name.(string)
		if member == "properties" || member == "$defs" || member == "definitions" {
			inside = "" // the name of an argument, not a keyword
		}
		value, err := readNode(dec, inside, depth+1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, key, value)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err := dec.Token()
	return n, err
}

// textNode returns a YAML text that keeps the value and shows all of it to a reader.
func textNode(text, member string) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if prose[member] {
		n.Value = shown(text)
		if strings.Contains(n.Value, "\n") {
			n.Style = yaml.LiteralStyle
		}
		return n, nil
	}
	if bare := strings.NewReplacer("\n", "", "\t", "", "\r", "").Replace(text); printable.Text(bare) != bare {
		return nil, errHidden
	}
	if strings.ContainsAny(text, "\n\t\r") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n, nil
}
