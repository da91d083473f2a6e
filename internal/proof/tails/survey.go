package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// measure is a number of the project, and what it may be at most.
type measure struct {
	Name  string `json:"name"`
	Value int    `json:"value"`
	Limit int    `json:"limit"`
	Where string `json:"where,omitempty"` // the file, function, type or package that has it
}

// sized is something with a size, and the place to find it.
type sized struct {
	size  int
	where string
}

// sizes are what was seen of a module, each list unsorted.
type sizes struct {
	files, functions, interfaces, structs []sized
	packages                              map[string]int  // lines by directory
	folders                               map[string]bool // names directly in internal/
}

func survey(root string) (*sizes, error) {
	s := &sizes{packages: map[string]int{}, folders: map[string]bool{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == "testdata" || strings.HasPrefix(name, ".") || name == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		return s.file(root, path)
	})
	return s, err
}

func (s *sizes) file(root, path string) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	if rest, inside := strings.CutPrefix(rel, "internal/"); inside {
		first, _, _ := strings.Cut(rest, "/")
		s.folders[first] = true
	}
	if strings.HasSuffix(rel, "_test.go") || ast.IsGenerated(f) {
		return nil
	}
	lines := fset.File(f.Pos()).LineCount()
	s.files = append(s.files, sized{lines, rel})
	s.packages[filepath.ToSlash(filepath.Dir(rel))] += lines
	ast.Inspect(f, func(n ast.Node) bool {
		s.node(fset, rel, n)
		return true
	})
	return nil
}

func (s *sizes) node(fset *token.FileSet, file string, n ast.Node) {
	at := func(name string) string { return fmt.Sprintf("%s:%d %s", file, fset.Position(n.Pos()).Line, name) }
	switch n := n.(type) {
	case *ast.FuncDecl:
		length := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1
		s.functions = append(s.functions, sized{length, at(n.Name.Name)})
	case *ast.TypeSpec:
		switch t := n.Type.(type) {
		case *ast.InterfaceType:
			s.interfaces = append(s.interfaces, sized{members(t.Methods), at(n.Name.Name)})
		case *ast.StructType:
			s.structs = append(s.structs, sized{members(t.Fields), at(n.Name.Name)})
		}
	}
}

// members counts names; what is embedded counts as one.
func members(list *ast.FieldList) (n int) {
	for _, field := range list.List {
		n += max(len(field.Names), 1)
	}
	return n
}

func (s *sizes) measures() []measure {
	var outside []sized
	for dir, lines := range s.packages {
		if dir != "internal/proof" && !strings.HasPrefix(dir, "internal/proof/") {
			outside = append(outside, sized{lines, dir})
		}
	}
	of := func(name string, list []sized, limit int) measure {
		top := percentile(list, 100)
		return measure{name, top.size, limit, top.where}
	}
	return []measure{
		of("lines of the largest file", s.files, 400),
		{"lines of a function, p90", percentile(s.functions, 90).size, 25, ""},
		{"lines of a function, p99", percentile(s.functions, 99).size, 40, ""},
		of("methods of the widest interface", s.interfaces, 8),
		of("members of the largest struct", s.structs, 25),
		{"folders in internal/", len(s.folders), 20, ""},
		of("lines of the largest package", outside, 4000),
	}
}

// percentile is the smallest size that so many percent do not exceed; the zero value of nothing.
func percentile(list []sized, percent int) sized {
	if len(list) == 0 {
		return sized{}
	}
	sorted := slices.SortedFunc(slices.Values(list), func(a, b sized) int {
		if a.size != b.size {
			return a.size - b.size
		}
		return strings.Compare(a.where, b.where)
	})
	return sorted[(len(sorted)*percent+99)/100-1]
}
