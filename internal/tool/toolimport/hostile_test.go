package toolimport_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/tool/toolimport"
)

// TestADocumentOfManyOperationsIsSoonRead: so many have one name, and each would look for a free
// one.
func TestADocumentOfManyOperationsIsSoonRead(t *testing.T) {
	paths := map[string]any{}
	for i := range 20_000 {
		paths[fmt.Sprintf("/x%d", i)] = map[string]any{"get": map[string]any{"operationId": "op"}}
	}
	doc, err := json.Marshal(map[string]any{"openapi": "3.0.0", "servers": []any{map[string]any{"url": "https://a.example"}}, "paths": paths})
	if err != nil {
		t.Fatal(err)
	}
	f, err := toolimport.OpenAPI(doc, toolimport.OpenAPIOptions{})
	if err != nil || len(f.Tools) != 500 || len(f.LeftOut) != 1001 {
		t.Fatalf("error %v, %d tools, %d left out", err, len(f.Tools), len(f.LeftOut))
	}
	if last := f.LeftOut[1000]; !strings.Contains(last.Reason, "--only") {
		t.Errorf("the last that was left out: %v", last)
	}
}

// TestAPathIsNoPartOfTheServersName: whoever says --server says who is sent the secrets.
func TestAPathIsNoPartOfTheServersName(t *testing.T) {
	for _, path := range []string{".evil.example/x", "@evil.example/x", ":8080/x", "x", ""} {
		doc := fmt.Sprintf(`{"openapi":"3.0.0","paths":{%q:{"get":{"operationId":"a"}}}}`, path)
		f, err := toolimport.OpenAPI([]byte(doc), toolimport.OpenAPIOptions{Server: "https://a.example"})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Tools) != 0 || len(f.LeftOut) != 1 || !strings.Contains(f.LeftOut[0].Reason, "slash") {
			t.Errorf("%q: tools %v, left out %v", path, f.Tools, f.LeftOut)
		}
	}
}

// TestADocumentThatGrowsWithoutEndIsRefused: aliases, references and levels.
func TestADocumentThatGrowsWithoutEndIsRefused(t *testing.T) {
	var aliases strings.Builder
	aliases.WriteString("openapi: 3.0.0\na: &a [1,1,1,1,1,1,1,1,1,1]\n")
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&aliases, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	for name, doc := range map[string]string{
		"aliases":        aliases.String(),
		"an alias":       "openapi: 3.0.0\npaths: &p\n  /x: *p\n",
		"levels of YAML": "openapi: 3.0.0\npaths: " + strings.Repeat("[", 200_000),
		"levels of JSON": `{"openapi":"3.0.0","paths":` + strings.Repeat(`{"a":`, 200_000),
	} {
		if _, err := toolimport.OpenAPI([]byte(doc), toolimport.OpenAPIOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	schemas := map[string]any{"s40": map[string]any{"type": "string"}}
	for i := range 40 {
		next := map[string]any{"$ref": fmt.Sprintf("#/components/schemas/s%d", i+1)}
		schemas[fmt.Sprintf("s%d", i)] = map[string]any{"type": "object", "properties": map[string]any{"a": next, "b": next}}
	}
	doc, err := json.Marshal(map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": schemas}, "paths": map[string]any{"/x": map[string]any{"post": map[string]any{
		"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/s0"}}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := toolimport.OpenAPI(doc, toolimport.OpenAPIOptions{Server: "https://a.example"})
	if err != nil || len(f.Tools) != 0 || len(f.LeftOut) != 1 {
		t.Errorf("error %v, tools %d, left out %v", err, len(f.Tools), f.LeftOut)
	}
}
