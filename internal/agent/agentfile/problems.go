package agentfile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Problem is a mistake in a file. Fix is what to do about it; it is empty where only the author can
// know.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"problem"`
	Fix  string `json:"fix,omitempty"`
}

func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	if p.Fix != "" {
		text += "; " + p.Fix
	}
	return text
}

// Problems splits an error of [Load], [Parse] or [ParsePolicy] into its problems. Any other error
// becomes one problem of file.
func Problems(file string, err error) []Problem {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Problem
		for _, e := range several.Unwrap() {
			all = append(all, Problems(file, e)...)
		}
		return all
	}
	if p, ok := errors.AsType[problem](err); ok {
		return []Problem{NewProblem(p.File, p.Line, p.Text)}
	}
	return []Problem{NewProblem(file, 1, err.Error())}
}

// NewProblem splits a message of the form "what is wrong; what to do". If the message lists the
// known names, the fix begins with the nearest one.
func NewProblem(file string, line int, message string) Problem {
	what, fix := divided(message)
	if name := nearest(message); name != "" {
		fix = strings.TrimSuffix(fmt.Sprintf("did you mean %q? %s", name, fix), " ")
	}
	return Problem{file, line, what, fix}
}

// divided cuts a message at its first "; " outside parentheses and quotes. If a parenthesis or a
// quote does not end, it cuts at the first "; ".
func divided(message string) (what, fix string) {
	deep, quoted := 0, false
	for i := 0; i < len(message); i++ {
		switch c := message[i]; {
		case quoted && c == '\\':
			i++ // what is quoted is escaped
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			deep++
		case c == ')':
			deep = max(deep-1, 0)
		case deep == 0 && strings.HasPrefix(message[i:], "; "):
			return message[:i], message[i+len("; "):]
		}
	}
	if quoted || deep > 0 {
		what, fix, _ = strings.Cut(message, "; ")
		return what, fix
	}
	return message, ""
}

var (
	quotedName = lazyregexp.New(`"([^"]+)"`)
	known      = lazyregexp.New(`(?:it takes |it is one of |name one it has \()([a-zA-Z0-9_.-]+(?:, [a-zA-Z0-9_.-]+)*)`)
)

// nearest is the known name that is most like the refused one; empty if the message lists no names
// or none is similar.
func nearest(message string) string {
	wrong, list := quotedName.FindStringSubmatch(message), known.FindStringSubmatch(message)
	if wrong == nil || list == nil {
		return ""
	}
	return agent.Nearest(wrong[1], strings.Split(list[1], ", "))
}

// Surveyed is an agent that was read, and where.
type Surveyed struct {
	agent.Definition
	File string
	text []byte
}

// Survey reads agents as [Load] does, from files or from all files of a directory, and returns the
// problems of all of them. An error is about a name: it does not exist or cannot be read.
func Survey(names ...string) ([]Surveyed, []Problem, error) {
	var agents []Surveyed
	var wrong []Problem
	first := map[string]string{}
	files, err := surveyFiles(names)
	for _, file := range files {
		d, err := loadFile(file)
		if err != nil {
			wrong = append(wrong, Problems(file, err)...)
			continue
		}
		// it was read a moment ago; without it a place is line 1
		text, _ := os.ReadFile(file)
		a := Surveyed{d, file, text}
		if other, twice := first[d.Name]; twice {
			wrong = append(wrong, NewProblem(file, a.Line("name", d.Name), fmt.Sprintf("agent %q is also in %s; rename one", d.Name, other)))
			continue
		}
		first[d.Name] = file
		agents = append(agents, a)
	}
	return agents, wrong, err
}

// surveyFiles are the files of the names, each once.
func surveyFiles(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		of := []string{name}
		stat, err := os.Stat(name)
		if err == nil && stat.IsDir() {
			of, err = Paths(name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", name, err)
		}
		for _, file := range of {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// Line is the line of key: value, or of value in the list of key; 1 if there is none.
func (a Surveyed) Line(key, value string) int {
	var doc yaml.Node
	if yaml.Unmarshal(a.text, &doc) != nil {
		return 1
	}
	return cmp.Or(lineOf(&doc, key, value), 1)
}

// ToolMember is the text that the file has for a member of a tool, and its line. If the tool has no
// such member, the text is empty and the line is the tool's.
func (a Surveyed) ToolMember(tool, member string) (value string, line int) {
	return toolMember(a.text, tool, member)
}

func lineOf(n *yaml.Node, key, value string) int {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == key {
			for _, found := range append([]*yaml.Node{child}, child.Content...) {
				if found.Kind == yaml.ScalarNode && found.Value == value {
					return found.Line
				}
			}
		}
		if line := lineOf(child, key, value); line > 0 {
			return line
		}
	}
	return 0
}

// CheckName returns an error for an invalid name of an agent.
func CheckName(name string) error {
	if !agent.AgentName.MatchString(name) {
		return fmt.Errorf("%q is not a valid agent name; use a-z, 0-9, - and _, at most 64, beginning with a letter or digit", name)
	}
	return nil
}
