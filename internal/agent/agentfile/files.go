package agentfile

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// File is an agent file as it was read: the agent in it, or what is wrong with it.
type File struct {
	Path string

	// Name is the agent's. For a file with a mistake it is the name that the file most likely
	// means: its name member, or the name of the file.
	Name       string
	Definition agent.Definition // zero with an Err
	Err        error            // as for [Load]

	// From has the digest of everything that was read for the agent, by path: the file itself,
	// and what it names. It is empty for what could not be read.
	From map[string]string

	text []byte
}

// Line is the line of a value, such as a name that the file uses; 1 if the file does not have it.
func (f File) Line(value string) int {
	var doc yaml.Node
	if value == "" || yaml.Unmarshal(f.text, &doc) != nil {
		return 1
	}
	return cmp.Or(saidIn(&doc, value), 1)
}

// saidIn is the line of the first such value in a mapping or a list; 0 if there is none.
func saidIn(n *yaml.Node, value string) int {
	for i, child := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0: // a key
		case child.Kind == yaml.ScalarNode && child.Value == value:
			return child.Line
		default:
			if line := saidIn(child, value); line > 0 {
				return line
			}
		}
	}
	return 0
}

// ToolLine is the line of a member of a tool; see [Surveyed.ToolMember].
func (f File) ToolLine(tool, member string) int {
	_, line := toolMember(f.text, tool, member)
	return line
}

// toolMember is the text of a member of a tool, and its line. If the tool has no such member, the
// text is empty and the line is the tool's; it is 1 if there is no such tool.
func toolMember(text []byte, tool, member string) (value string, line int) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return "", 1
	}
	for _, t := range memberOf(doc.Content[0], "tools").Content {
		if memberOf(t, "name").Value == tool {
			at := memberOf(t, member)
			return at.Value, cmp.Or(at.Line, t.Line)
		}
	}
	return "", 1
}

// Unreadable is a file that cannot be read as an agent. Name and Err are as in [File].
type Unreadable struct {
	Name, File string
	Err        error
}

// ReadFiles reads every agent file of a directory, by path. The error is that of the directory.
func ReadFiles(dir string) ([]File, error) {
	paths, err := Paths(dir)
	if err != nil {
		return nil, err
	}
	files := make([]File, len(paths))
	for i, path := range paths {
		files[i] = readFile(path)
	}
	return files, nil
}

// Sort returns the agents of files by name, and the files that have none. Of two files with one
// name the first counts.
func Sort(files []File) (defs []agent.Definition, wrong []Unreadable) {
	seen := map[string]string{}
	for _, f := range files {
		if f.Err != nil {
			wrong = append(wrong, Unreadable{f.Name, f.Path, f.Err})
			continue
		}
		if other, twice := seen[f.Name]; twice {
			wrong = append(wrong, Unreadable{f.Name, f.Path,
				problem{f.Path, 1, fmt.Sprintf("agent %q is also in %s; rename one", f.Name, other)}})
			continue
		}
		seen[f.Name] = f.Path
		defs = append(defs, f.Definition)
	}
	slices.SortFunc(defs, func(a, b agent.Definition) int { return cmp.Compare(a.Name, b.Name) })
	return defs, wrong
}

// Paths are the agent files of a directory, sorted.
func Paths(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("agent: reading the agents directory: %w", err)
	}
	var files []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if !e.IsDir() && (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

func loadFile(path string) (agent.Definition, error) {
	f := readFile(path)
	return f.Definition, f.Err
}

func readFile(path string) File {
	f := File{Path: path, From: map[string]string{}}
	read := func(path string) ([]byte, error) {
		text, err := os.ReadFile(path)
		f.From[path] = ""
		if err == nil {
			f.From[path] = core.Digest(text)
		}
		return text, err
	}
	text, err := read(path)
	f.text = text
	if err != nil {
		f.Name, f.Err = likelyName(path, nil), problem{path, 1, "cannot be read: " + err.Error()}
		return f
	}
	f.Definition, f.Err = Parse(path, text, func(rel string) ([]byte, error) {
		return read(filepath.Join(filepath.Dir(path), rel))
	})
	f.Name = f.Definition.Name
	if f.Err != nil {
		f.Name = likelyName(path, text)
	}
	return f
}

// nameLine finds the agent's name, even in files that are not valid YAML.
var nameLine = lazyregexp.New(`(?m)^name:[ \t]*["']?([a-z0-9][a-z0-9_-]{0,63})["']?[ \t\r]*(?:#.*)?$`)

func likelyName(path string, text []byte) string {
	if found := nameLine.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
