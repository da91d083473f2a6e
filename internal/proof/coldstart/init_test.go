package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The most that a package may allocate before main, in bytes. Those of others than Go and this
// module are mostly the schemas of the SDK's clients, which the baseline has as well.
const (
	mostOfOurs = 4 << 10
	mostOfAll  = 40 << 10 // of ours together
	mostOthers = 128 << 10
)

var initLine = regexp.MustCompile(`(?m)^init (\S+) @.* clock, ([0-9]+) bytes, [0-9]+ allocs$`)

// initialized are the bytes that each package of a program allocates before main.
func initialized(t *testing.T, pkg string) map[string]int {
	t.Helper()
	binary, err := build(t.Context(), module+"/"+pkg, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	// without settings the program ends at once
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	out, _ := cmd.CombinedOutput()
	all := map[string]int{}
	for _, line := range initLine.FindAllStringSubmatch(string(out), -1) {
		all[line[1]], _ = strconv.Atoi(line[2])
	}
	if len(all) < 20 {
		t.Fatalf("%s: %s", pkg, out)
	}
	return all
}

// TestLittleHappensBeforeMain: a function runs the initialization of all that it links at each cold
// start.
func TestLittleHappensBeforeMain(t *testing.T) {
	if testing.Short() {
		t.Skip("it links two functions")
	}
	baseline, total := initialized(t, "internal/proof/coldstart/baseline"), 0
	for pkg, bytes := range initialized(t, "functions/step") {
		most := max(mostOthers, baseline[pkg]+mostOfOurs)
		if strings.HasPrefix(pkg, module) {
			total += bytes
			most = mostOfOurs
		}
		if bytes > most {
			t.Errorf("%s allocates %d bytes before main, and may %d; make it when it is first used", pkg, bytes, most)
		}
	}
	if total > mostOfAll {
		t.Errorf("the packages of this module allocate %d bytes before main, and may %d", total, mostOfAll)
	}
}

// TestExpressionsAreCompiledWhenTheyAreUsed reads what the functions link.
func TestExpressionsAreCompiledWhenTheyAreUsed(t *testing.T) {
	expressions := 0
	for _, dir := range linked(t) {
		for _, call := range callsOf(t, dir, packageLevel) {
			if strings.HasPrefix(call.name, "regexp.") || strings.HasPrefix(call.name, "template.") {
				t.Errorf("%s: %s runs before main; use package lazyregexp, or sync.OnceValue", call.at, call.name)
			}
			if call.name != "lazyregexp.New" {
				continue
			}
			expressions++
			if text, literal := call.text(); literal {
				if _, err := regexp.Compile(text); err != nil {
					t.Errorf("%s: %v", call.at, err)
				}
			}
		}
	}
	if expressions < 50 {
		t.Errorf("%d expressions were found; the test sees nothing", expressions)
	}
}

// linked are the directories of this module's packages that the functions link.
func linked(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lambda.norpc,nethttpomithttp2", "-f",
		`{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}`, module+"/functions/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// call is a call of a function of another package.
type call struct {
	name, at string
	args     []ast.Expr
}

// text is the argument, if it consists of literals.
func (c call) text() (string, bool) {
	var read func(ast.Expr) (string, bool)
	read = func(e ast.Expr) (string, bool) {
		switch e := e.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		case *ast.BinaryExpr:
			x, first := read(e.X)
			y, second := read(e.Y)
			return x + y, first && second
		}
		return "", false
	}
	if len(c.args) != 1 {
		return "", false
	}
	return read(c.args[0])
}

// packageLevel visits what runs when a package is initialized: the values of its variables, without
// the functions in them, and its functions named init.
func packageLevel(f *ast.File, visit func(ast.Node) bool) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				_, later := n.(*ast.FuncLit)
				return !later && visit(n)
			})
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				ast.Inspect(d, visit)
			}
		}
	}
}

func callsOf(t *testing.T, dir string, each func(*ast.File, func(ast.Node) bool)) (calls []call) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		each(f, func(n ast.Node) bool {
			c, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			if of, is := c.Fun.(*ast.SelectorExpr); is {
				if pkg, is := of.X.(*ast.Ident); is {
					calls = append(calls, call{pkg.Name + "." + of.Sel.Name, set.Position(c.Pos()).String(), c.Args})
				}
			}
			return true
		})
	}
	return calls
}
