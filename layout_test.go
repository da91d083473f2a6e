package dormouse_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors says where each package lives. A package imports lower floors only; the rooms of one floor do not know one another,
// but for the doors in sideways.
var floors = map[string]int{
	"internal/core": 1, "internal/wire": 1, "internal/client": 1, "internal/machine": 1, "internal/access": 1, "internal/visible": 1, "internal/strictyaml": 1, "internal/netguard": 1,
	"internal/engine": 2, "internal/frontend": 2, "internal/agent": 2,
	"internal/sqlite": 3, "internal/scripted": 3, "internal/recording": 3, "internal/tool": 3, "internal/hook": 3, "internal/httpapi": 3, "internal/httptool": 3, "internal/sim": 3,
	"internal/local": 4, "internal/program": 4, "internal/replay": 4, "internal/torture": 4,
	"internal/scaffold": 1, "internal/rehearsal": 4, "internal/awscli": 4,
	"internal/cli": 5, "cmd/dormouse": 6, "examples/refund-desk": 4, "examples/refund-desk/demo": 6, "examples/night-shift": 4, "internal/sim/planted": 6,
	"internal/strictjson": 1, "internal/intake": 2,
	"internal/e2e/servers": 3, "internal/e2e/stack": 3, "internal/e2e/lambda": 3, "internal/e2e/gateway": 3, "internal/e2e/platform": 4, "internal/e2e/suites": 5, "internal/e2e": 6, // the proof
	"internal/e2e/lambda/testdata/echo": 6,
	"internal/dynamo":                   3, "internal/sqsqueue": 3, "internal/emf": 3, "internal/xray": 3, "internal/awsenv/stack": 4, "internal/lambdahttp": 3, "internal/awsapi": 4, "internal/awsapi/awsapitest": 5, "functions/api": 5, "functions/decision": 5, "internal/awsenv": 4, "internal/awsstep": 4, "internal/awsexamples": 4, "functions/step": 5, "functions/sweep": 5,
	"internal/bedrock": 3, "internal/openai": 3, "internal/live": 3, "internal/lambdatool": 3, "internal/mcptool": 3, "internal/toolimport": 3, "internal/ssmsecret": 3, "internal/secret": 1, "internal/modeldouble": 3, "internal/modeltest": 4,
	".": 4, "internal/binding": 4, "lambdastep": 5, "lambdaapi": 5, "command": 6, // what other programs import, and what puts it into the registries
	"examples/custom-binary/partsdesk": 5, "examples/custom-binary": 7, "examples/custom-binary/lambda/step": 6, "examples/custom-binary/lambda/api": 6, "examples/custom-binary/lambda/decision": 6,
	"internal/engine/enginetest": 3, "internal/frontend/frontendtest": 3, "internal/httpapi/httpapitest": 3, "internal/awsdouble": 3, // for tests
}

var sideways = map[string][]string{
	"internal/client":      {"internal/wire"},
	"internal/binding":     {"."},
	"internal/local":       {"internal/program"},
	"internal/awsapi":      {"internal/awsenv/stack"},
	"internal/awsenv":      {"internal/awsenv/stack", "internal/program"},
	"internal/awsexamples": {"examples/refund-desk", "examples/night-shift"}, // as cmd/dormouse has them
	"internal/awsstep":     {"internal/awsenv", "internal/awsenv/stack", "internal/program"},
	"internal/frontend":    {"internal/engine"}, // the words of the ports
	"internal/intake":      {"internal/engine", "internal/frontend"},
	"internal/strictjson":  {"internal/core"}, // the bound on nesting

	"internal/e2e/gateway": {"internal/e2e/stack"},
}

const module = "github.com/dormouse-dev/dormouse/"

func TestPackagesImportLowerFloorsOnly(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, parser.ImportsOnly, func(path string, f *ast.File) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		floor, ok := floors[pkg]
		if !ok {
			t.Errorf("%s has no floor; give it one here and in docs/architecture.md", pkg)
			return
		}
		seen[pkg] = true
		for _, imp := range f.Imports {
			to, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
			if to+"/" == module {
				to, ours = ".", true
			}
			if ours && floors[to] >= floor && !slices.Contains(sideways[pkg], to) {
				t.Errorf("%s (floor %d) imports %s (floor %d)", path, floor, to, floors[to])
			}
		}
	})
	for pkg := range floors {
		if !seen[pkg] {
			t.Errorf("%s has a floor and no code", pkg)
		}
	}
}

// eachFile parses the Go files of the project, but for tests.
func eachFile(t *testing.T, mode parser.Mode, look func(path string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, mode)
		if err == nil {
			look(filepath.ToSlash(path), f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
