// Package toolimport converts descriptions of tools from other systems to the part of an agent file
// that names them, so that a person reads what an agent may call and a version pins it. It makes no
// network request, and what it reads is untrusted. Package agent accepts every tool that it writes;
// everything that it cannot write is listed with the reason.
package toolimport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// Fragment is a part of an agent file.
type Fragment struct {
	// Head are notes for a reader, written as comments.
	Head    []string                `json:"-"`
	Servers map[string]agent.Server `json:"servers,omitempty"`
	Tools   []Tool                  `json:"tools"`
	LeftOut []LeftOut               `json:"left_out"`
}

// Tool is one tool of a fragment.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	HTTP        *agent.HTTP     `json:"http,omitempty"`
	MCP         *agent.MCP      `json:"mcp,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// nil leaves the decision to package agent
	ReadOnly   *bool `json:"read_only,omitempty"`
	Idempotent bool  `json:"idempotent,omitempty"`

	// Notes say what the file does not express, although its tool is there; they are written as
	// comments.
	Notes []string `json:"-"`
}

// LeftOut names something that is not in a fragment, and why.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Limits of a fragment.
const (
	mostTools       = 500
	mostDescription = 4000
	mostParameters  = 64 << 10
	mostLeft        = 1000 // limit of the entries that are listed
)

// Add adds a tool to the fragment under a free name. If that is impossible, it leaves the tool out
// and records why.
func (f *Fragment) Add(t Tool) {
	wanted := t.Name
	if len(f.Tools) >= mostTools { // checked first, because finding a free name gets slow
		f.Leave(wanted, fmt.Sprintf("there are more than %d tools; select tools with --only", mostTools))
		return
	}
	t.Name = f.free(wanted)
	if t.MCP != nil && t.Name != wanted {
		t.MCP.Tool = wanted
	}
	if len(t.Parameters) <= mostParameters {
		var none bool
		if t.Parameters, none = closed(t.Parameters); none && t.MCP != nil {
			t.Notes = append(t.Notes, "its schema lists no arguments, so the tool takes none; if it takes arguments, set additionalProperties: true")
		}
	}
	t.Description = begin(shown(strings.TrimSpace(t.Description)), mostDescription)
	if err := f.check(t); err != nil {
		f.Leave(wanted, err.Error())
		return
	}
	f.Tools = append(f.Tools, t)
}

// Leave records that something is not in the fragment, up to the limit that a person may still
// read.
func (f *Fragment) Leave(name, reason string) {
	switch {
	case len(f.LeftOut) > mostLeft:
		return
	case len(f.LeftOut) == mostLeft:
		name, reason = "and more", fmt.Sprintf("more than %d are left out, and the rest is skipped; select tools with --only", mostLeft)
	}
	f.LeftOut = append(f.LeftOut, LeftOut{printable.Text(begin(name, 200)), printable.Text(begin(reason, 500))})
}

var unfit = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// free returns a name that no other tool of the fragment has.
func (f *Fragment) free(wanted string) string {
	name := strings.Trim(unfit.ReplaceAllString(wanted, "_"), "_")
	name = cmp.Or(name[:min(len(name), 60)], "tool")
	for i := 1; ; i++ {
		try := name
		if i > 1 {
			try = fmt.Sprintf("%s_%d", name, i)
		}
		if try != core.FinishTool && !slices.ContainsFunc(f.Tools, func(t Tool) bool { return t.Name == try }) {
			return try
		}
	}
}

// begin returns the beginning of a text, without splitting a character.
func begin(text string, most int) string { return clip.Bytes(text, most, "...") }

// shown returns text of several lines with its invisible characters escaped.
func shown(text string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(text), "\n")
	for i := range lines {
		lines[i] = printable.Text(strings.TrimRight(lines[i], " "))
	}
	return strings.Join(lines, "\n")
}

// check reads an agent file with the tool in it and returns what is wrong.
func (f *Fragment) check(t Tool) error {
	if len(t.Parameters) > mostParameters {
		return fmt.Errorf("its parameters are longer than %d bytes", mostParameters)
	}
	one := Fragment{Tools: []Tool{t}}
	if t.MCP != nil {
		one.Servers = map[string]agent.Server{t.MCP.Server: f.Servers[t.MCP.Server]}
	}
	text, err := one.YAML()
	if err != nil {
		return err
	}
	_, err = agentfile.Parse("t.yaml", append([]byte(around), text...), nil)
	if err != nil {
		return reason(err)
	}
	return nil
}

// around is the rest of the agent file.
const around = "model: {provider: scripted, turns: [{say: x}]}\n"

var place = regexp.MustCompile(`(?m)^t\.yaml:[0-9]+: `)

// reason removes the line numbers from an error, because no one sees that file.
func reason(err error) error {
	return fmt.Errorf("%s", strings.ReplaceAll(place.ReplaceAllString(err.Error(), ""), "\n", "; "))
}

// YAML returns the fragment as YAML. It returns an error for what cannot be written visibly.
func (f *Fragment) YAML() ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	if len(f.Servers) > 0 {
		servers, err := nodeOf(core.Encode(f.Servers))
		if err != nil {
			return nil, err
		}
		put(root, "servers", servers)
	}
	tools := &yaml.Node{Kind: yaml.SequenceNode}
	for _, t := range f.Tools {
		n, err := nodeOf(core.Encode(t))
		if err != nil {
			return nil, err
		}
		spellTimes(n)
		for _, note := range t.Notes {
			n.HeadComment = strings.TrimPrefix(n.HeadComment+"\n# "+printable.Text(note), "\n")
		}
		tools.Content = append(tools.Content, n)
	}
	put(root, "tools", tools)
	for _, line := range f.Head {
		root.HeadComment = strings.TrimPrefix(root.HeadComment+"\n# "+printable.Text(line), "\n")
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	for _, l := range f.LeftOut {
		fmt.Fprintf(&b, "# Left out: %s: %s\n", l.Name, l.Reason)
	}
	return b.Bytes(), enc.Close()
}

func put(mapping *yaml.Node, name string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
}

// spellTimes converts the milliseconds of a definition to the durations of a file.
func spellTimes(tool *yaml.Node) {
	for _, body := range []string{"http", "mcp"} {
		for i := 0; i+1 < len(tool.Content); i += 2 {
			if tool.Content[i].Value != body {
				continue
			}
			for j := 0; j+1 < len(tool.Content[i+1].Content); j += 2 {
				if tool.Content[i+1].Content[j].Value == "timeout" {
					tool.Content[i+1].Content[j+1].Value += "ms"
					tool.Content[i+1].Content[j+1].Tag = "!!str"
				}
			}
		}
	}
}
