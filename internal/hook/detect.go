package hook

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// The kinds of commands that are detected in a workspace.
const (
	Format = "format" // rewrites files; its output is dropped
	Lint   = "lint"   // its output is shown to the model
)

// Kinds lists all kinds in the order in which they run: files are formatted before they are linted.
var Kinds = []string{Format, Lint}

// Detected is a command that was detected in a workspace.
type Detected struct {
	Kind string
	Argv []string
	From string // the file of the workspace that defines it
}

// String is the command line.
func (d Detected) String() string { return strings.Join(d.Argv, " ") }

// Here reports whether the program of the command exists on this machine. If not, the command is
// skipped.
func (d Detected) Here(workspace string) bool {
	_, ok := lookUp(workspace, d.Argv[0])
	return ok
}

// Detect finds the commands of some kinds in a workspace, at most one of each, in the order of
// [Kinds]. What the workspace defines itself takes precedence over the usual commands of its
// language:
//
//	Makefile         make fmt, make format; make lint
//	package.json     npm run format; npm run lint
//	go.mod           gofmt -w .; go vet ./...
//	Cargo.toml       cargo fmt; cargo clippy
//	pyproject.toml   ruff format .; ruff check ., or black .
//
// It reads a few files and runs nothing. A missing workspace has no commands.
func Detect(workspace string, kinds []string) (found []Detected) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, kind := range Kinds {
		if !slices.Contains(kinds, kind) {
			continue
		}
		for _, detect := range detectors {
			if d, ok := detect(root, kind); ok {
				d.Kind = kind
				found = append(found, d)
				break
			}
		}
	}
	return found
}

// detectors are tried in this order. Each knows one build tool.
var detectors = []func(root *os.Root, kind string) (Detected, bool){ofMake, ofNode, ofGo, ofRust, ofPython}

// targets are the usual names of Makefile targets for a kind, the most common first.
var targets = map[string][]string{Format: {"fmt", "format"}, Lint: {"lint"}}

func ofMake(root *os.Root, kind string) (Detected, bool) {
	// in the order of make
	for _, file := range []string{"GNUmakefile", "makefile", "Makefile"} {
		text, ok := readFile(root, file)
		if !ok {
			continue
		}
		for _, target := range targets[kind] {
			if regexp.MustCompile(`(?m)^(?:[^#\t:=\n]* )?` + target + `(?: [^#:=\n]*)?::?(?:[^=:]|$)`).Match(text) {
				return Detected{Argv: []string{"make", "-s", target}, From: file}, true
			}
		}
		return Detected{}, false
	}
	return Detected{}, false
}

func ofNode(root *os.Root, kind string) (Detected, bool) {
	const file = "package.json"
	var about struct{ Scripts map[string]string }
	text, ok := readFile(root, file)
	if !ok || json.Unmarshal(text, &about) != nil || about.Scripts[kind] == "" {
		return Detected{}, false
	}
	return Detected{Argv: []string{"npm", "run", "--silent", kind}, From: file}, true
}

func ofGo(root *os.Root, kind string) (Detected, bool) {
	return usual(root, "go.mod", kind, map[string][]string{Format: {"gofmt", "-w", "."}, Lint: {"go", "vet", "./..."}})
}

func ofRust(root *os.Root, kind string) (Detected, bool) {
	return usual(root, "Cargo.toml", kind, map[string][]string{Format: {"cargo", "fmt"}, Lint: {"cargo", "clippy", "--quiet"}})
}

// ofPython uses the tools that are configured: a project that configures neither may not want them.
func ofPython(root *os.Root, kind string) (Detected, bool) {
	ruff := map[string][]string{Format: {"ruff", "format", "--quiet", "."}, Lint: {"ruff", "check", "--quiet", "."}}
	for _, file := range []string{"ruff.toml", ".ruff.toml"} {
		if d, ok := usual(root, file, kind, ruff); ok {
			return d, true
		}
	}
	const file = "pyproject.toml"
	text, _ := readFile(root, file)
	switch {
	case tableOf("ruff").Match(text):
		return Detected{Argv: ruff[kind], From: file}, true
	case kind == Format && tableOf("black").Match(text):
		return Detected{Argv: []string{"black", "--quiet", "."}, From: file}, true
	}
	return Detected{}, false
}

// tableOf matches the settings of a tool in a pyproject.toml.
func tableOf(tool string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*\[\s*tool\s*\.\s*` + tool + `\s*[.\]]`)
}

// usual returns the usual command of a workspace with this file.
func usual(root *os.Root, file, kind string, commands map[string][]string) (Detected, bool) {
	about, err := root.Stat(file)
	if err != nil || !about.Mode().IsRegular() {
		return Detected{}, false
	}
	return Detected{Argv: commands[kind], From: file}, true
}

// mostRead limits how much of a file is read.
const mostRead = 256 << 10

// readFile reads the beginning of a file of the workspace; it returns false without one.
func readFile(root *os.Root, name string) ([]byte, bool) {
	about, err := root.Stat(name)
	if err != nil || !about.Mode().IsRegular() { // reading a pipe would block
		return nil, false
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostRead))
	return text, err == nil
}
