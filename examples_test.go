package dormouse_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEveryExampleCanBeCopiedOut compiles each example, with its tests, as a module of its own: a
// reader can start from a copy. It uses what this module's go.mod and go.sum name, and no network.
func TestEveryExampleCanBeCopiedOut(t *testing.T) {
	folders, err := os.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	copied := 0
	for _, folder := range folders {
		dir := filepath.Join("examples", folder.Name())
		if !folder.IsDir() || !hasGo(t, dir) {
			continue
		}
		copied++
		t.Run(folder.Name(), func(t *testing.T) {
			t.Parallel()
			vet := exec.CommandContext(t.Context(), "go", "vet", "./...")
			vet.Dir = copyOut(t, dir)
			vet.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
			if said, err := vet.CombinedOutput(); err != nil {
				t.Errorf("a copy of %s: %v\n%s", dir, err, said)
			}
		})
	}
	if copied < 3 {
		t.Errorf("only %d examples have Go code", copied)
	}
}

func hasGo(t *testing.T, dir string) (has bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		has = has || strings.HasSuffix(path, ".go")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return has
}

// copyOut makes a module of an example: its files, under another import path, with this module in
// the place of the released one.
func copyOut(t *testing.T, dir string) (copied string) {
	t.Helper()
	copied = t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	before, after := module+"/"+filepath.ToSlash(dir), "example.com/"+filepath.Base(dir)
	err := filepath.WalkDir(copied, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		return rewrite(path, path, func(text string) string { return strings.ReplaceAll(text, `"`+before, `"`+after) })
	})
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	err = rewrite("go.mod", filepath.Join(copied, "go.mod"), func(text string) string {
		return strings.Replace(text, "module "+module+"\n", "module "+after+"\n", 1) +
			"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + strconv.Quote(here) + "\n"
	})
	if err == nil {
		err = rewrite("go.sum", filepath.Join(copied, "go.sum"), func(text string) string { return text })
	}
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// rewrite writes the text of a file, changed, into another or the same.
func rewrite(from, to string, change func(string) string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(change(string(text))), 0o600)
}
