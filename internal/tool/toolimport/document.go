package toolimport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is a parsed OpenAPI document.
type document struct{ root map[string]any }

// mostValues limits how many values a document may have once its aliases are expanded.
const mostValues = 1_000_000

// readDocument reads JSON or YAML. Numbers keep every digit.
func readDocument(text []byte) (document, error) {
	value, err := readJSON(text)
	if err != nil && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return document{}, fmt.Errorf("the document is not valid JSON: %w", err)
	}
	if err != nil {
		if value, err = readYAML(text); err != nil {
			return document{}, err
		}
	}
	root, _ := value.(map[string]any)
	version := textOf(root["openapi"])
	if n, ok := root["openapi"].(json.Number); ok {
		version = n.String()
	}
	switch {
	case root["swagger"] != nil:
		return document{}, errors.New("this is a Swagger 2 document; convert it to OpenAPI 3 first")
	case !strings.HasPrefix(version, "3."):
		return document{}, errors.New("this is not an OpenAPI 3 document; it must contain openapi: 3.0 or 3.1")
	}
	return document{root}, nil
}

func readJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is text after the end of the document")
	}
	return v, nil
}

func readYAML(text []byte) (any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("the document is neither JSON nor YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("the document is empty")
	}
	left := mostValues
	return valueOf(doc.Content[0], 0, &left)
}

// valueOf converts a node to the value that JSON would have. An alias is expanded each time it is
// used; left limits that.
func valueOf(n *yaml.Node, depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > 200 {
		return nil, errors.New("the document is too large or nested too deeply")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return valueOf(n.Alias, depth+1, left)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := valueOf(item, depth+1, left)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := valueOf(n.Content[i+1], depth+1, left)
			if err != nil {
				return nil, err
			}
			object[n.Content[i].Value] = v
		}
		return object, nil
	}
	return scalar(n), nil
}

func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
	}
	return n.Value
}

// textOf, objectOf, listOf and is return a value if it has the right type, and otherwise the zero
// value.
func textOf(v any) string {
	text, _ := v.(string)
	return text
}

func objectOf(v any) map[string]any {
	object, _ := v.(map[string]any)
	return object
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func is(v any) bool {
	yes, _ := v.(bool)
	return yes
}

// lookup resolves a reference within the document.
func (d document) lookup(ref string) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, fmt.Errorf("it refers to %q, which is outside this document; include it in the document", begin(ref, 100))
	}
	var at any = d.root
	for _, name := range strings.Split(pointer, "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(name)
		next, there := objectOf(at)[name]
		if !there {
			return nil, fmt.Errorf("it refers to %q, which does not exist", begin(ref, 100))
		}
		at = next
	}
	return at, nil
}

// object returns an object, which may be a reference to another place in the document.
func (d document) object(v any) (map[string]any, error) {
	o := objectOf(v)
	for range 10 {
		ref := textOf(o["$ref"])
		if ref == "" {
			return o, nil
		}
		target, err := d.lookup(ref)
		if err != nil {
			return nil, err
		}
		o = objectOf(target)
	}
	return nil, errors.New("a reference leads back to itself")
}
