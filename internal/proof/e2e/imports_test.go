package main

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheStandInsKnowNothingOfTheProduct: a stand-in for AWS that shared code with the product
// would share its mistakes too.
func TestTheStandInsKnowNothingOfTheProduct(t *testing.T) {
	const module = "github.com/dormouse-dev/dormouse/"
	folders := []string{"internal/aws/template", "internal/proof/awsdouble", "internal/proof/e2e/stack", "internal/proof/e2e/lambda",
		"internal/proof/e2e/gateway", "internal/proof/e2e/servers", "internal/proof/e2e/platform", "internal/proof/e2e/faultproxy"}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join("../../..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no code: %v", folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				path, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
				if ours && !slices.Contains(folders, path) {
					t.Errorf("%s imports %s; it may import %v alone", file, path, folders)
				}
			}
		}
	}
}
