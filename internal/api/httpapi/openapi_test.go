package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/apidoc"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/httpapitest"
)

const openapiFile = "openapi.json"

// TestOpenAPIDocument writes the document with -update. Otherwise it reports a document that
// differs from the routes and the types.
func TestOpenAPIDocument(t *testing.T) {
	checkDocument(t)
}

func checkDocument(t *testing.T) {
	t.Helper()
	doc, missing := buildDocument()
	for _, name := range missing {
		t.Errorf("%s is missing; describe it in openapi_words_test.go", name)
	}
	text := written(t, doc)
	checkFile(t, openapiFile, string(text))
	if bytes.Equal(text, apidoc.Text()) {
		return
	}
	if !*update {
		t.Fatal("programs link another document; write it anew with -update")
	}
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err := errors.Join(err, w.Close(), os.WriteFile("apidoc/openapi.json.gz", small.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
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
	contract, err := httpapitest.Read(apidoc.Text())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range sampleBodies {
		if err := contract.Takes(b.call, []byte(b.body)); err != nil {
			t.Errorf("the example %s of %s: %v\n%s", b.name, b.call, err, b.body)
		}
	}
	if contract.Takes("startRun", []byte(`{"agent":"desk","input":"x","colour":1}`)) == nil || contract.Takes("readRun", []byte(`{}`)) == nil {
		t.Error("anything is taken")
	}
}
