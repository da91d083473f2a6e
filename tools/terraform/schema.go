package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

type diags = hcl.Diagnostics

// attributeNames are the names in a reference, without indexes.
func attributeNames(t hcl.Traversal) (names []string) {
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		}
	}
	return names
}

// blockWrongs compares a block with what the provider knows of it.
func blockWrongs(at string, b *hclsyntax.Body, of map[string]argument) (known int, wrongs []string) {
	given := map[string]bool{}
	for name := range b.Attributes {
		if name == "count" || name == "depends_on" {
			continue
		}
		given[name] = true
		known++
		if a, is := of[name]; !is || a.Block != nil {
			wrongs = append(wrongs, fmt.Sprintf("%s: the provider has no argument %s", at, name))
		}
	}
	for _, inner := range b.Blocks {
		name, body := inner.Type, inner.Body
		switch name {
		case "lifecycle":
			continue
		case "dynamic":
			name, body = inner.Labels[0], body.Blocks[0].Body
		}
		given[name] = true
		a, is := of[name]
		if !is || a.Block == nil {
			wrongs = append(wrongs, fmt.Sprintf("%s: the provider has no block %s", at, name))
			continue
		}
		n, wrong := blockWrongs(at+"."+name, body, a.Block)
		known, wrongs = known+n, append(wrongs, wrong...)
	}
	for name, a := range of {
		if a.Required && !given[name] {
			wrongs = append(wrongs, fmt.Sprintf("%s: the provider requires %s", at, name))
		}
	}
	return known, wrongs
}

// argument is one of a resource's, as the provider's schema has it.
type argument struct {
	Required bool
	Type     string
	Block    map[string]argument
}

//go:embed schema.json
var schemaText []byte

// schemaWrongs says which arguments the provider lacks or misses, and which attributes are read
// that no resource has.
func schemaWrongs(m *module) (known int, wrongs []string) {
	var schema struct {
		Types map[string]struct {
			Arguments  map[string]argument
			Attributes []string
		}
	}
	if err := json.Unmarshal(schemaText, &schema); err != nil {
		wrong("schema.json: %v", err)
	}
	there := map[string]bool{}
	for _, r := range m.resources {
		there[r.Labels[0]+"."+r.Labels[1]] = true
	}
	for _, r := range m.resources {
		if r.Labels[0] == "terraform_data" {
			continue
		}
		address := r.Labels[0] + "." + r.Labels[1]
		of, is := schema.Types[r.Labels[0]]
		if !is {
			wrongs = append(wrongs, r.Labels[0]+" is not in schema.json; see tools/terraform/schema.py")
			continue
		}
		n, wrong := blockWrongs(address, r.Body, of.Arguments)
		known, wrongs = known+n, append(wrongs, wrong...)
		_ = hclsyntax.VisitAll(r.Body, func(n hclsyntax.Node) (none diags) {
			t, is := n.(*hclsyntax.ScopeTraversalExpr)
			if !is || !strings.HasPrefix(t.Traversal.RootName(), "aws_") {
				return nil
			}
			names := attributeNames(t.Traversal)
			if !there[names[0]+"."+names[1]] {
				wrongs = append(wrongs, address+" refers to "+names[0]+"."+names[1]+", which isn't there")
			}
			if len(names) > 2 && !slices.Contains(append(schema.Types[names[0]].Attributes, "id"), names[2]) {
				wrongs = append(wrongs, address+" reads "+strings.Join(names, ".")+", which the provider lacks")
			}
			known++
			return nil
		})
	}
	return known, wrongs
}
