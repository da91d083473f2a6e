package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Texts about a command say "dormouse" where they are documentation, and where [cmdline.App] gives
// them the name of the program: in help and errors. Printed text, the log and what callers of the
// API read take the name from elsewhere, or name the command alone.
func TestNoPrintedTextIsAboutDormouse(t *testing.T) {
	var words []string
	for _, cmd := range tree().Commands() {
		words = append(words, regexp.QuoteMeta(cmd.Name()))
	}
	command := regexp.MustCompile(`\bdormouse (` + strings.Join(words, "|") + `)\b`)
	files := 0
	for _, dir := range []string{"../../internal", "../../command", "../../lambdaapi", "../../lambdadecision", "../../lambdaconsole", "../../lambdahook", "../../lambdaintake", "../../lambdanotify", "../../lambdastep", "../../lambdasweep"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "proof" || d.Name() == "testdata"):
				return filepath.SkipDir
			// a page of the documentation
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.ToSlash(path) == "../../internal/api/httpapi/problems/problems.go":
				return nil
			}
			files++
			for _, text := range printed(t, path, strings.Contains(filepath.ToSlash(path), "/internal/cli/")) {
				if found := command.FindString(text); found != "" {
					t.Errorf("%s prints %q; the program may have another name", path, found)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Errorf("only %d files were read", files)
	}
}

// prints are functions whose text is printed as it is, and the field of a line on the screen.
var prints = []string{"Print", "Printf", "Fprint", "Fprintf", "Fprintln", "WriteString", "row", "Text"}

// printed are the literals of a file: all of them, or, in the command, those that are printed as
// they are.
func printed(t *testing.T, path string, command bool) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var within []string // the calls and fields around a node; "" for every other node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			within = within[:len(within)-1]
			return true
		}
		if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
			if !command || slices.ContainsFunc(within, func(name string) bool { return slices.Contains(prints, name) }) {
				text, _ := strconv.Unquote(lit.Value)
				texts = append(texts, text)
			}
		}
		within = append(within, nameOf(n))
		return true
	})
	return texts
}

// nameOf is the function that a call names, or the field that is set.
func nameOf(n ast.Node) string {
	var x ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		x = n.Fun
	case *ast.KeyValueExpr:
		x = n.Key
	}
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
