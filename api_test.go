package dormouse_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// public are the packages that programs may import, by their directories.
var public = []string{".", "client", "command", "lambdaapi", "lambdaconsole", "lambdadecision", "lambdahook", "lambdaintake", "lambdanotify", "lambdastep", "lambdasweep"}

// updateAPI rewrites testdata/api.golden: go test -run TestThePublicAPI -update-api .
var updateAPI = flag.Bool("update-api", false, "write testdata/api.golden")

// parsed is a package as it is documented: exported names alone, and its imports by the names they
// have in it.
type parsed struct {
	docs    *doc.Package
	fset    *token.FileSet
	imports map[string]string
}

func parse(t *testing.T, dir string) parsed {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	p := parsed{fset: token.NewFileSet(), imports: map[string]string{}}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			local := path[strings.LastIndex(path, "/")+1:]
			if imp.Name != nil {
				local = imp.Name.Name
			}
			p.imports[local] = path
		}
		files = append(files, f)
	}
	p.docs, err = doc.NewFromFiles(p.fset, files, strings.TrimSuffix(module, "/")+strings.TrimPrefix("/"+dir, "/."))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	return p
}

// declaration is an exported one, with its comment.
type declaration struct {
	ast.Decl
	doc string
}

// declarations are all exported ones, in the order of the documentation.
func (p parsed) declarations() (all []declaration) {
	values := func(list []*doc.Value) {
		for _, v := range list {
			all = append(all, declaration{v.Decl, v.Doc})
		}
	}
	funcs := func(list []*doc.Func) {
		for _, f := range list {
			f.Decl.Body = nil
			all = append(all, declaration{f.Decl, f.Doc})
		}
	}
	values(p.docs.Consts)
	values(p.docs.Vars)
	funcs(p.docs.Funcs)
	for _, typ := range p.docs.Types {
		all = append(all, declaration{typ.Decl, typ.Doc})
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	return all
}

// bare takes the comments out of a declaration.
func bare(d ast.Decl) ast.Decl {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.FuncDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	return d
}

func TestThePublicAPIIsTheOneThatWasAgreedOn(t *testing.T) {
	var got strings.Builder
	for _, dir := range public {
		p := parse(t, dir)
		got.WriteString("package " + p.docs.Name + "\n")
		for _, d := range p.declarations() {
			var b bytes.Buffer
			if err := printer.Fprint(&b, token.NewFileSet(), bare(d.Decl)); err != nil {
				t.Fatal(err)
			}
			tidy, err := format.Source(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString("\n" + string(tidy) + "\n")
		}
		got.WriteString("\n")
	}
	golden := filepath.Join("testdata", "api.golden")
	if *updateAPI {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("what programs import has changed; if it is meant, say it in CHANGELOG.md and run go test -run %s -update-api .\n%s", t.Name(), diff)
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, dir := range public {
		p := parse(t, dir)
		if !strings.HasPrefix(p.docs.Doc, "Package "+p.docs.Name+" ") {
			t.Errorf("%s: the package has no comment", dir)
		}
		for _, d := range p.declarations() {
			switch decl := d.Decl.(type) {
			case *ast.FuncDecl:
				if !strings.HasPrefix(d.doc, decl.Name.Name+" ") {
					t.Errorf("%s: func %s has no comment that begins with its name", dir, decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					documented(t, dir, d.doc, spec)
				}
			}
		}
	}
}

func documented(t *testing.T, dir, comment string, spec ast.Spec) {
	t.Helper()
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !strings.HasPrefix(comment, s.Name.Name+" ") {
			t.Errorf("%s: type %s has no comment that begins with its name", dir, s.Name.Name)
		}
		if i, ok := s.Type.(*ast.InterfaceType); ok {
			for _, m := range i.Methods.List {
				if m.Doc == nil {
					t.Errorf("%s: %s.%s has no comment", dir, s.Name.Name, m.Names[0].Name)
				}
			}
		}
	case *ast.ValueSpec:
		if s.Doc == nil && s.Comment == nil {
			t.Errorf("%s: %s has no comment", dir, s.Names[0].Name)
		}
	}
}

// TestNoInternalTypeIsPublic: a reader can look up every type of a public signature.
func TestNoInternalTypeIsPublic(t *testing.T) {
	for _, dir := range public {
		p := parse(t, dir)
		for _, d := range p.declarations() {
			ast.Inspect(d.Decl, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if name, ok := sel.X.(*ast.Ident); ok && strings.Contains(p.imports[name.Name], "/internal/") {
					t.Errorf("%s: %s.%s of %s is in a public signature", dir, name.Name, sel.Sel.Name, p.imports[name.Name])
				}
				return true
			})
		}
	}
}
