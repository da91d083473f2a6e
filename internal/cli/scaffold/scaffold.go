// Package scaffold writes the files of a new agent, which runs as it is: the agent, the script of
// its model, and its tests. It does not read agents, and it overwrites nothing.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed files
var files embed.FS

// ErrInTheWay is wrapped by the error that names a file which is there already.
var ErrInTheWay = errors.New("is there already")

// File is a file to write. A Shared one belongs to all agents of the directory: if it is there, it
// is left as it is.
type File struct {
	Path   string // with the directory
	Text   []byte
	Shared bool
}

// Usual is the directory of agents that commands look in by themselves.
const Usual = "agents"

// Agent are the files of an agent called name in the directory dir, with commands of the program of
// that name. The files refer to schemas under the names agent.json, script.json and test.json;
// those are written with them.
func Agent(program, dir, name string, schemas map[string][]byte) ([]File, error) {
	var out []File
	argument, option := Naming(dir)
	fill := strings.NewReplacer("@PROGRAM@", program, "@NAME@", name, "@DIR@", argument, "@AGENTS@", option)
	for _, from := range []struct{ template, path string }{
		{"agent.yaml", name + ".yaml"}, {"script.yaml", "scripts/" + name + ".yaml"}, {"test.yaml", "tests/" + name + ".yaml"},
	} {
		text, err := files.ReadFile("files/" + from.template)
		if err != nil {
			return nil, fmt.Errorf("scaffold: %w", err)
		}
		out = append(out, File{Path: filepath.Join(dir, filepath.FromSlash(from.path)), Text: []byte(fill.Replace(string(text)))})
	}
	for _, kind := range []string{"agent", "script", "test"} {
		out = append(out, File{Path: filepath.Join(dir, "schemas", kind+".json"), Text: schemas[kind], Shared: true})
	}
	return out, nil
}

// Write writes the files, or none of them: one that is there already and is not shared keeps all
// from being written, and is named. It returns what was written and, of the shared ones, what was
// kept though it has another text. If it fails, what it made is gone again, directories too.
func Write(list []File) (written, kept []string, err error) {
	for _, f := range list {
		if _, err := os.Lstat(f.Path); err == nil && !f.Shared {
			return nil, nil, inTheWay(f.Path)
		}
	}
	var made trace
	for _, f := range list {
		switch err := f.write(&made); {
		case err == nil:
			written = append(written, f.Path)
		case !f.Shared || !errors.Is(err, fs.ErrExist):
			return nil, nil, errors.Join(err, made.undo())
		case !f.same():
			kept = append(kept, f.Path)
		}
	}
	return written, kept, nil
}

func inTheWay(path string) error {
	return fmt.Errorf("%s %w; remove it, or take another name", path, ErrInTheWay)
}

// write makes the file, and refuses one that is there.
func (f File) write(made *trace) error {
	if err := made.directory(filepath.Dir(f.Path)); err != nil {
		return err
	}
	out, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) && !f.Shared {
		return inTheWay(f.Path) // it came a moment ago
	}
	if err != nil {
		return fmt.Errorf("scaffold: %w", err)
	}
	made.files = append(made.files, f.Path)
	_, err = out.Write(f.Text)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("scaffold: %w", err)
	}
	return nil
}

func (f File) same() bool {
	text, err := os.ReadFile(f.Path)
	return err == nil && string(text) == string(f.Text)
}
