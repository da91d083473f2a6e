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
	Format = "format" // it rewrites files, and its output is dropped
	Lint   = "lint"   // its output is shown to the model
)

// Kinds are all of them, in the order in which they run: what is linted is formatted.
var Kinds = []string{Format, Lint}

// Detected is a command that a workspace is known to have.
type Detected struct {
	Kind string
	Argv []string
	From string // the file of the workspace that tells
}

// String is the command line.
func (d Detected) String() string { return strings.Join(d.Argv, " ") }

// Here says whether the program of the command is on this machine. One that is not is left out.
func (d Detected) Here(workspace string) bool {
	_, ok := lookUp(workspace, d.Argv[0])
	return ok
}

// Detect finds the commands of some kinds in a workspace, one of each kind at most, in the order of
// [Kinds]. What the workspace says itself counts before what its language usually has:
//
//	Makefile         make fmt, make format; make lint
//	package.json     npm run format; npm run lint
//	go.mod           gofmt -w .; go vet ./...
//	Cargo.toml       cargo fmt; cargo clippy
//	pyproject.toml   ruff format .; ruff check ., or black .
//
// It reads a few files and runs nothing. A workspace that is not there has no commands.
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

// detectors are asked in this order. Each knows one way to build.
var detectors = []func(root *os.Root, kind string) (Detected, bool){ofMake, ofNode, ofGo, ofRust, ofPython}

// targets are the names that Makefiles have for a kind, the usual one first.
var targets = map[string][]string{Format: {"fmt", "format"}, Lint: {"lint"}}

func ofMake(root *os.Root, kind string) (Detected, bool) {
	// as make looks for them
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

// ofPython goes by what is configured: a project that formats with neither may not want it.
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

// tableOf finds the settings of a tool in a pyproject.toml.
func tableOf(tool string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*\[\s*tool\s*\.\s*` + tool + `\s*[.\]]`)
}

// usual is the command that a workspace with this file has.
func usual(root *os.Root, file, kind string, commands map[string][]string) (Detected, bool) {
	about, err := root.Stat(file)
	if err != nil || !about.Mode().IsRegular() {
		return Detected{}, false
	}
	return Detected{Argv: commands[kind], From: file}, true
}

// mostRead is how much of a file is looked at.
const mostRead = 256 << 10

// readFile reads the beginning of a file of the workspace; false if there is none.
func readFile(root *os.Root, name string) ([]byte, bool) {
	about, err := root.Stat(name)
	if err != nil || !about.Mode().IsRegular() { // a pipe would be waited for
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
