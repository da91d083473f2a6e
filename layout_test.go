package dormouse_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers are the packages from the bottom up, by the beginning of their paths; the longest
// beginning that fits counts. A package imports packages of lower layers. Within its own layer it
// imports only those that the same beginning covers; a beginning that ends with a slash covers each
// folder in it on its own, so that one adapter never imports another.
var layers = []struct {
	what     string
	packages []string
}{
	{"decides what happens next in a run", []string{"internal/core"}},
	{"shared: text, clock, secrets", []string{"internal/text", "internal/machine", "internal/secret"}},
	{"public HTTP client with the API's types", []string{"client"}},
	{"server-side API types, and access checks", []string{"internal/api/wire", "internal/api/access"}},
	{"what people see of a run", []string{"internal/api/project"}},
	{"what clients of other protocols see of it", []string{"internal/api/aisdk", "internal/api/agui", "internal/api/a2a"}},
	{"commits a plan, then carries it out", []string{"internal/engine"}},
	{"callers' requests, and agent definitions", []string{"internal/frontend", "internal/agent"}},
	{"intake queue, and incoming webhooks", []string{"internal/queue/intake", "internal/frontend/hooks"}},
	{"retries of remote tool calls", []string{"internal/tool/remote"}},
	{"notices for receivers", []string{"internal/notify"}},
	{"adapters, which don't import one another", []string{"internal/store/", "internal/queue/", "internal/model/", "internal/tool/", "internal/tool", "internal/hook", "internal/secret/ssmsecret",
		"internal/api/", "internal/aws/emf", "internal/aws/xray", "internal/local/live",
		"internal/notify/webhook", "internal/notify/slack", "internal/notify/teams", "internal/notify/template"}},
	{"agents and approvals as tools of MCP", []string{"internal/api/mcpserver"}},
	{"the console and protocols of other clients, on the API", []string{"internal/api/console", "internal/api/protocols"}},
	{"public Go API, and registry of your tools and hooks", []string{".", "internal/program"}},
	{"wiring: chooses the adapters", []string{"internal/aws", "internal/local", "internal/binding"}},
	{"commands, and packages for AWS functions with your code", []string{"internal/cli", "lambdastep", "lambdaapi", "lambdadecision", "lambdaconsole", "lambdanotify", "lambdahook", "lambdaintake", "lambdasweep"}},
	{"package for a command with your code", []string{"command"}},
	{"main packages", []string{"cmd/", "functions/", "examples/", "bench/"}},
	{"reader of template.yaml", []string{"internal/aws/template"}},
	{"proof: tests, never imported by product code", []string{"internal/proof"}},
	{"the proof program", []string{"cmd/dormouse-proof"}},
}

const module = "github.com/dormouse-dev/dormouse"

// layerOf is the layer of a package, and what of it counts as one with the package; -1 if there is
// none.
func layerOf(pkg string) (layer int, unit string) {
	layer, longest := -1, 0
	for i, l := range layers {
		for _, prefix := range l.packages {
			u := strings.TrimSuffix(prefix, "/")
			if u != prefix && strings.HasPrefix(pkg, prefix) {
				first, _, _ := strings.Cut(pkg[len(prefix):], "/")
				u = prefix + first
			}
			if within(pkg, u) && len(prefix) > longest {
				layer, longest, unit = i, len(prefix), u
			}
		}
	}
	return layer, unit
}

// within says whether a package is a folder or in it.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// ours is the path in the module of what is imported.
func ours(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func TestPackagesImportLowerLayersOnly(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, parser.ImportsOnly, func(path string, f *ast.File) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		from, unit := layerOf(pkg)
		if from < 0 {
			t.Errorf("%s is in no layer; give its folder one here", pkg)
			return
		}
		used[unit] = true
		for _, imp := range f.Imports {
			to, is := ours(strings.Trim(imp.Path.Value, `"`))
			if !is {
				continue
			}
			if layer, other := layerOf(to); layer > from || layer == from && other != unit {
				t.Errorf("%s imports %s:\n%s is for %q,\n%s is for %q", path, to, unit, layers[from].what, other, layers[layer].what)
			}
		}
	})
	for _, l := range layers {
		for _, prefix := range l.packages {
			if !anyWithin(used, strings.TrimSuffix(prefix, "/")) {
				t.Errorf("%s is in a layer and has no code", prefix)
			}
		}
	}
}

func anyWithin(units map[string]bool, folder string) bool {
	for unit := range units {
		if within(unit, folder) {
			return true
		}
	}
	return false
}

// TestWhatIsReleasedLinksNeitherProofNorExamples: what is built to test Dormouse is in no binary
// that people install, and no library of tests; nor are the tools of an example, which its own
// program brings.
func TestWhatIsReleasedLinksNeitherProofNorExamples(t *testing.T) {
	released := []string{"./cmd/dormouse", "./functions/...", "./lambdastep", "./lambdaapi", "./lambdadecision", "./lambdaconsole", "./lambdanotify", "./lambdahook", "./lambdaintake", "./lambdasweep", "./command", "./client"}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, released...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, module+"/internal/core") {
		t.Fatal("the list of packages has no core")
	}
	for _, pkg := range linked {
		name, is := ours(pkg)
		if pkg == "testing" || is && (within(name, "internal/proof") || within(name, "examples") || strings.HasSuffix(name, "test")) {
			t.Errorf("%s is linked into what people install", pkg)
		}
	}
}

// TestTheArchitectureDrawsTheLayers holds the drawing in the documentation to the layers.
func TestTheArchitectureDrawsTheLayers(t *testing.T) {
	page, err := os.ReadFile("docs/how-it-works/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := drawing(); !strings.Contains(string(page), want) {
		t.Errorf("docs/how-it-works/architecture.md does not draw the layers; it should say\n%s", want)
	}
}

// drawing is the layers as text, the top one first.
func drawing() string {
	var b strings.Builder
	b.WriteString("```text\n")
	for i, l := range slices.Backward(layers) {
		fmt.Fprintf(&b, "%2d  %s\n", i+1, l.what)
		line := "     "
		for _, p := range l.packages {
			if strings.HasSuffix(p, "/") && slices.Contains(l.packages, strings.TrimSuffix(p, "/")) {
				continue // the folder and what is in it are one name
			}
			if len(line)+1+len(p) > 100 {
				b.WriteString(line + "\n")
				line = "     "
			}
			line += " " + p
		}
		b.WriteString(line + "\n")
	}
	return b.String() + "```\n"
}

// eachFile parses the Go files of the project, but for tests.
func eachFile(t *testing.T, mode parser.Mode, look func(path string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if path == "tools" { // separate modules, which no package here imports
			return fs.SkipDir
		}
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

// TestTheClientLinksNeitherEngineNorStoreNorSDK: a program that calls the API builds the client
// with the standard library and next to nothing of this module.
func TestTheClientLinksNeitherEngineNorStoreNorSDK(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./client").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := slices.DeleteFunc(strings.Fields(string(out)), func(pkg string) bool { return strings.HasPrefix(pkg, module+"/client/internal/") })
	slices.Sort(linked)
	want := []string{module + "/client", module + "/internal/machine", module + "/internal/text/clip", module + "/internal/text/sse"}
	if !slices.Equal(linked, want) {
		t.Errorf("the client links\n%s\nwant\n%s", strings.Join(linked, "\n"), strings.Join(want, "\n"))
	}
}
