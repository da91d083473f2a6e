package httpapi

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/httpapitest"
)

const openapiFile = "openapi.json"

// TestOpenAPIDocument writes the document with -update, and else says when it is not what the table
// and the types say.
func TestOpenAPIDocument(t *testing.T) {
	doc, missing := buildDocument()
	for _, name := range missing {
		t.Errorf("%s has no words; say in openapi_words_test.go what it means", name)
	}
	want := written(t, doc)
	if *update {
		if err := os.WriteFile(openapiFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(openapiFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the routes and the types say (%v): go test ./internal/api/httpapi -run OpenAPI -update", openapiFile, err)
	}
}

func written(t *testing.T, doc any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, b.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	return indented.Bytes()
}

func TestEveryRouteIsDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, rt := range (&api{}).table() {
		if rt.title == "" || names[rt.name] || len(rt.answers) == 0 {
			t.Errorf("%s %s: title %q, name %q, %d answers", rt.method, rt.path, rt.title, rt.name, len(rt.answers))
		}
		names[rt.name] = true
		for _, p := range rt.params {
			if !strings.HasSuffix(p.about, ".") {
				t.Errorf("%s: the parameter %s has no sentence", rt.name, p.name)
			}
		}
	}
}

func TestEveryExampleIsInTheDocument(t *testing.T) {
	contract, err := httpapitest.Read(OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bodies {
		if err := contract.Takes(b.call, []byte(b.body)); err != nil {
			t.Errorf("the example %s of %s: %v\n%s", b.name, b.call, err, b.body)
		}
	}
	if contract.Takes("startRun", []byte(`{"agent":"desk","input":"x","colour":1}`)) == nil || contract.Takes("readRun", []byte(`{}`)) == nil {
		t.Error("anything is taken")
	}
}
