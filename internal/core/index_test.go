package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestTheIndexNamesWhatIsThere holds the index in doc.go to the code: each function, or method, is
// in the file that the index names.
func TestTheIndexNamesWhatIsThere(t *testing.T) {
	entries := readIndex(t)
	if len(entries) < 20 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, e := range entries {
		if !functionsOf(t, e.file)[e.function] {
			t.Errorf("%s: %s is not in %s", e.behaviour, e.function, e.file)
		}
	}
}

type indexEntry struct{ behaviour, function, file string }

// readIndex reads the lines of doc.go that follow its heading and end with a file.
func readIndex(t *testing.T) (entries []indexEntry) {
	t.Helper()
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "// # Where is it\n")
	if !found {
		t.Fatal("doc.go has no index")
	}
	index, _, _ := strings.Cut(rest, "// # ")
	for line := range strings.Lines(index) {
		words := strings.Fields(strings.TrimPrefix(line, "//\t"))
		if n := len(words); strings.HasPrefix(line, "//\t") && n > 2 {
			entries = append(entries, indexEntry{strings.Join(words[:n-2], " "), words[n-2], words[n-1]})
		}
	}
	return entries
}

// functionsOf are the names of the functions and methods of a file.
func functionsOf(t *testing.T, file string) map[string]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Errorf("%v", err)
		return nil
	}
	names := map[string]bool{}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			names[fn.Name.Name] = true
		}
	}
	return names
}
