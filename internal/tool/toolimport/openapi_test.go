package toolimport_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/tool/toolimport"
)

var update = flag.Bool("update", false, "write the files that are compared")

// around is the rest of an agent file.
const around = "model: {provider: scripted, turns: [{say: x}]}\n"

// imported is a document as a fragment, in a file that is an agent.
func imported(t *testing.T, file string, o toolimport.OpenAPIOptions) (*toolimport.Fragment, string, agent.Definition) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := toolimport.OpenAPI(text, o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.YAML()
	if err != nil {
		t.Fatal(err)
	}
	d, err := agentfile.Parse("desk.yaml", []byte(around+string(out)), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return f, string(out), d
}

func TestDocumentsBecomeToolsThatAnAgentFileTakes(t *testing.T) {
	for file, server := range map[string]string{"orders.yaml": "", "shop.json": "https://shop.example.com/api"} {
		t.Run(file, func(t *testing.T) {
			_, got, d := imported(t, filepath.Join("testdata", file), toolimport.OpenAPIOptions{Server: server})
			golden := filepath.Join("testdata", strings.TrimSuffix(file, filepath.Ext(file))+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got; if it is meant: go test ./internal/tool/toolimport -update\n%s", diff)
			}
			if len(d.Tools) < 5 {
				t.Errorf("%d tools", len(d.Tools))
			}
		})
	}
}

// TestOurOwnDocumentCanBeImported: all of it but what answers with a stream of its own.
func TestOurOwnDocumentCanBeImported(t *testing.T) {
	f, _, d := imported(t, "../../api/httpapi/openapi.json", toolimport.OpenAPIOptions{Server: "http://127.0.0.1:7420"})
	for _, l := range f.LeftOut {
		t.Errorf("left out: %s: %s", l.Name, l.Reason)
	}
	names := map[string]agent.Tool{}
	for _, tool := range d.Tools {
		names[tool.Name] = tool
	}
	start := names["startRun"]
	if start.HTTP == nil || !start.HTTP.AllowPrivate || start.HTTP.Headers["Authorization"] != "Bearer {secret:BEARER}" || len(d.Tools) < 15 {
		t.Errorf("%d tools, startRun %+v", len(d.Tools), start.HTTP)
	}
}

func TestOnlyWhatIsNamedIsImported(t *testing.T) {
	_, _, d := imported(t, "testdata/orders.yaml", toolimport.OpenAPIOptions{Only: []string{"listOrders", "orders.get"}})
	if len(d.Tools) != 2 || d.Tools[0].Name != "listOrders" || d.Tools[1].Name != "orders_get" {
		t.Errorf("tools %+v", d.Tools)
	}
	text, err := os.ReadFile("testdata/orders.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := toolimport.OpenAPI(text, toolimport.OpenAPIOptions{Only: []string{"listOders"}}); err == nil || !strings.Contains(err.Error(), `no operation "listOders"`) {
		t.Errorf("error %v", err)
	}
}

func TestWhatIsNoDocumentIsRefused(t *testing.T) {
	bomb := "openapi: 3.0.0\na: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for _, name := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		bomb += name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat("*"+string(name[0]-1)+",", 10), ",") + "]\n"
	}
	for text, want := range map[string]string{
		"":                                 "empty",
		"{":                                "not valid JSON",
		"a: [":                             "neither JSON nor YAML",
		`{"swagger":"2.0"}`:                "convert it to OpenAPI 3 first",
		`{"info":{}}`:                      "not an OpenAPI 3 document",
		bomb:                               "too large",
		strings.Repeat("[", 300):           "neither JSON nor YAML",
		"openapi: 3.0.0\na: &a\n  b: *a\n": "too large",
	} {
		if _, err := toolimport.OpenAPI([]byte(text), toolimport.OpenAPIOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error %v, want %q", text, err, want)
		}
	}
}

// TestSchemasThatGrowAreBounded: each name holds the next one ten times.
func TestSchemasThatGrowAreBounded(t *testing.T) {
	schemas := `"S9":{"type":"string"}`
	for _, n := range "012345678" {
		ref := `{"$ref":"#/components/schemas/S` + string(n+1) + `"}`
		schemas += `,"S` + string(n) + `":{"type":"object","properties":{"a":` + ref + `,"b":` + ref + `,"c":` + ref + `,"d":` + ref + `}}`
	}
	text := `{"openapi":"3.1.0","servers":[{"url":"https://a.example"}],"paths":{"/x":{"post":{"operationId":"x","requestBody":{"content":{"application/json":{"schema":
		{"$ref":"#/components/schemas/S0"}}}}}}},"components":{"schemas":{` + schemas + `}}}`
	f, err := toolimport.OpenAPI([]byte(text), toolimport.OpenAPIOptions{})
	if err != nil || len(f.Tools) != 0 || len(f.LeftOut) != 1 || !strings.Contains(f.LeftOut[0].Reason, "more than 5000 parts") {
		t.Errorf("%+v, error %v", f, err)
	}
}

func FuzzOpenAPI(f *testing.F) {
	for _, file := range []string{"testdata/orders.yaml", "testdata/shop.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"openapi":"3.1.0","servers":[{"url":"https://a.example"}],"paths":{"/{a}":{"get":{"parameters":[{"name":"a","in":"path","schema":true}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fragment, err := toolimport.OpenAPI(text, toolimport.OpenAPIOptions{})
		if err != nil || len(fragment.Tools) == 0 {
			return
		}
		out, err := fragment.YAML()
		if err != nil {
			t.Fatalf("%v of %q", err, text)
		}
		if _, err := agentfile.Parse("desk.yaml", []byte(around+string(out)), nil); err != nil {
			t.Fatalf("%v\n%s\nof %q", err, out, text)
		}
	})
}
