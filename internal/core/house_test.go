package core

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated documents anew")

// forbidden are standard packages that would give the core a clock, randomness, I/O, a context or a
// logger.
var forbidden = []string{"time", "os", "io/fs", "net", "net/http", "context", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "sync", "database/sql"}

func TestCoreImportsTheStandardLibraryAndItselfOnly(t *testing.T) {
	for _, file := range coreFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			if own, _ := strings.CutPrefix(path, "github.com/dormouse-dev/dormouse/internal/core"); own == "" || own[0] == '/' {
				continue
			}
			if strings.Contains(path, ".") || slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s", file, path)
			}
		}
	}
}

// coreFiles are the files of this package and of those below it, without tests.
func coreFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || !slices.Contains(files, filepath.Join("planner", "decide.go")) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

const stateMachineDoc = "../../docs/how-it-works/state-machine.md"

func TestStateMachineDocument(t *testing.T) {
	want := stateMachine()
	for _, s := range allCalls {
		if !strings.Contains(want, s.String()) {
			t.Errorf("the diagram lacks %s", s)
		}
	}
	if *update {
		if err := os.WriteFile(stateMachineDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(stateMachineDoc)
	if err != nil || string(got) != want {
		t.Errorf("docs/how-it-works/state-machine.md is not what the tables say (%v): go test ./internal/core -run StateMachine -update", err)
	}
}

func stateMachine() string {
	var b strings.Builder
	b.WriteString("# State machines and phases\n\n" +
		"This page lists the status changes of runs and tool calls, and the phases in which hooks run. It is\n" +
		"generated from `internal/core`; do not edit it.\n")
	b.WriteString("\n## Runs\n\n```mermaid\nstateDiagram-v2\n    [*] --> created\n")
	diagram(&b, allRuns, runTransitions)
	b.WriteString("```\n\n## Tool calls\n\n```mermaid\nstateDiagram-v2\n    [*] --> new\n")
	diagram(&b, allCalls, callTransitions)
	b.WriteString("```\n")
	return b.String() + phasesText()
}

func diagram[S interface {
	comparable
	fmt.Stringer
}](b *strings.Builder, states []S, table map[S][]S) {
	for _, from := range states {
		for _, to := range table[from] {
			fmt.Fprintf(b, "    %s --> %s\n", from, to)
		}
		if len(table[from]) == 0 {
			fmt.Fprintf(b, "    %s --> [*]\n", from)
		}
	}
}
