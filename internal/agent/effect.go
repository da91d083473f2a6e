package agent

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Effect is work that follows the result of a tool. Exactly one of Go, Command and Detect says
// what; this package does not run it.
type Effect struct {
	Name  string   `json:"name"`
	Tools []string `json:"tools"` // names and patterns
	Go    string   `json:"go,omitempty"`

	Command []string `json:"command,omitempty"` // a program and its arguments
	// [DetectFormat], [DetectLint]: commands that the workspace is found to have
	Detect    []string `json:"detect,omitempty"`
	Workspace string   `json:"workspace,omitempty"` // the directory it runs in
	// the argument of the call that names the files, as in a [Condition]
	Paths string `json:"paths,omitempty"`
}

// Follows says whether the effect follows calls of the tool.
func (e Effect) Follows(tool string) bool {
	return slices.ContainsFunc(e.Tools, func(pattern string) bool { return matchGlob(pattern, tool) })
}

// Files are what the call's arguments name under Paths: one text, or the texts of a list. None if
// there is no such argument.
func (e Effect) Files(raw json.RawMessage) []string {
	if e.Paths == "" {
		return nil
	}
	found, _ := readArguments(raw).at(e.Paths)
	list, ok := found.([]any)
	if !ok {
		list = []any{found}
	}
	var files []string
	for _, item := range list {
		if text, ok := item.(string); ok && text != "" {
			files = append(files, text)
		}
	}
	return files
}

// The kinds of commands that an effect may look for.
const (
	DetectFormat = "format"
	DetectLint   = "lint"
)

// Commands are the effects that run commands on the machine that serves, by the order of the file.
func (d Definition) Commands() []Effect {
	return slices.DeleteFunc(slices.Clone(d.Effects), func(e Effect) bool { return e.Go != "" })
}

// Needs are the names of what a definition expects the program to have registered, each once and in
// the order of the file.
type Needs struct {
	Functions []string // bodies of tools
	Hooks     []string
	Memories  []string
	Effects   []string // Go functions of effects
	Providers []string // of models, beside scripted and recorded ones
	Kinds     []string // of tools that another process runs: "a2a", "lambda" and "mcp"
}

// Needs lists what the definition cannot do without.
func (d Definition) Needs() Needs {
	n := Needs{Hooks: slices.Clone(d.Hooks)}
	if p := d.Model.Provider; p != ProviderScripted && p != ProviderRecorded {
		n.Providers = AddName(n.Providers, p)
	}
	for _, t := range d.Tools {
		n.Functions = AddName(n.Functions, t.Go)
		n.Kinds = AddName(n.Kinds, t.Remote())
		if t.Agent != nil && t.Agent.A2A != nil {
			n.Kinds = AddName(n.Kinds, kindA2A)
		}
	}
	for _, e := range d.Effects {
		n.Effects = AddName(n.Effects, e.Go)
	}
	n.Memories = AddName(n.Memories, d.Memory)
	return n
}

// AddName appends a name that is not empty and not there yet.
func AddName(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// Missing are the Go functions of tools that the definition names and that are not among functions.
func (d Definition) Missing(functions map[string]core.ToolSpec) []string {
	return slices.DeleteFunc(d.Needs().Functions, func(name string) bool {
		_, ok := functions[name]
		return ok
	})
}
