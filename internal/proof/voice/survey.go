package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// finding is a place that breaks a rule.
type finding struct {
	file string
	line int
	says string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.says) }

// proof holds the packages that test the product. No user reads them.
const proof = "internal/proof/"

// survey reads every Go file, Markdown page, YAML file and template of the module, except those in
// testdata. Of tests and of internal/proof, only the width of Go comments counts.
func survey(root string) (found []finding, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "testdata" || name == "bin" || name == "node_modules" || strings.HasPrefix(name, ".") && name != ".github") {
				return fs.SkipDir
			}
			return nil
		}
		text, rel := []byte(nil), path
		if rel, err = filepath.Rel(root, path); err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch filepath.Ext(name) {
		case ".go", ".md", ".html", ".tmpl", ".yaml", ".yml":
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		switch filepath.Ext(name) {
		case ".go":
			there, err := goFile(rel, text)
			found = append(found, there...)
			return err
		case ".md", ".html", ".tmpl", ".yaml", ".yml":
			if strings.HasPrefix(rel, proof) {
				return nil
			}
			for i, line := range strings.Split(string(text), "\n") {
				found = append(found, words(rel, i+1, line)...)
			}
		}
		return nil
	})
	return found, err
}

func goFile(path string, text []byte) (found []finding, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	found = wide(path, text, fset, file)
	if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, proof) {
		return found, nil
	}
	for _, doc := range public(file) {
		for _, c := range doc.List {
			found = append(found, words(path, fset.Position(c.Pos()).Line, c.Text)...)
		}
	}
	tags := map[ast.Node]bool{} // the names of stored members, which no one reads as English
	ast.Inspect(file, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			tags[field.Tag] = true
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || tags[n] {
			return true
		}
		said, err := strconv.Unquote(lit.Value)
		if err != nil {
			return true
		}
		for i, line := range strings.Split(said, "\n") {
			found = append(found, words(path, fset.Position(lit.Pos()).Line+i, line)...)
		}
		return true
	})
	return found, nil
}

// limit is how many columns a line with a comment may have. A tab counts as eight.
const limit = 100

// wide finds the comments that end beyond the limit. Directives for the compiler cannot be wrapped.
func wide(path string, text []byte, fset *token.FileSet, file *ast.File) (found []finding) {
	lines := bytes.Split(text, []byte("\n"))
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:") {
				continue
			}
			for n := fset.Position(c.Pos()).Line; n <= fset.Position(c.End()).Line; n++ {
				if columns := width(string(lines[n-1])); columns > limit {
					found = append(found, finding{path, n, fmt.Sprintf("a comment ends in column %d; wrap it at %d", columns, limit)})
				}
			}
		}
	}
	return found
}

func width(line string) (columns int) {
	for _, r := range line {
		columns++
		if r == '\t' {
			columns += 7
		}
	}
	return columns
}

// public are the comments that documentation tools show: of the package, and of what is exported.
func public(file *ast.File) (docs []*ast.CommentGroup) {
	add := func(exported bool, of ...*ast.CommentGroup) {
		for _, doc := range of {
			if exported && doc != nil {
				docs = append(docs, doc)
			}
		}
	}
	add(true, file.Doc)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name.IsExported(), n.Doc)
			return false
		case *ast.GenDecl:
			add(len(n.Specs) == 0 || exported(n.Specs...), n.Doc)
		case *ast.TypeSpec:
			add(n.Name.IsExported(), n.Doc, n.Comment)
			return n.Name.IsExported()
		case *ast.ValueSpec:
			add(exported(n), n.Doc, n.Comment)
			return false
		case *ast.Field:
			add(len(n.Names) == 0 || anyExported(n.Names), n.Doc, n.Comment)
		}
		return true
	})
	return docs
}

func exported(specs ...ast.Spec) bool {
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				return true
			}
		case *ast.ValueSpec:
			if anyExported(s.Names) {
				return true
			}
		}
	}
	return false
}

func anyExported(names []*ast.Ident) bool {
	for _, name := range names {
		if name.IsExported() {
			return true
		}
	}
	return false
}
