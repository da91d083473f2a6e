package scaffold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func schemas() map[string][]byte {
	return map[string][]byte{"agent": []byte("{}\n"), "script": []byte("{}\n"), "test": []byte("{}\n")}
}

func plan(t *testing.T, dir, name string) []File {
	t.Helper()
	files, err := Agent("dormouse", dir, name, schemas())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// below are the files below dir, by their path in it.
func below(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path) // it is below dir
		found[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestANewAgentHasAScriptTestsAndSchemas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work", "agents")
	written, kept, err := Write(plan(t, dir, "desk"))
	if err != nil || len(written) != 6 || kept != nil {
		t.Fatal(written, kept, err)
	}
	files := below(t, dir)
	for _, name := range []string{"desk.yaml", "scripts/desk.yaml", "tests/desk.yaml", "schemas/agent.json", "schemas/script.json", "schemas/test.json"} {
		if files[name] == "" {
			t.Errorf("%s is not there, or empty", name)
		}
		if strings.Contains(files[name], "@") {
			t.Errorf("%s has a gap that was not filled:\n%s", name, files[name])
		}
		schema, says := strings.CutPrefix(files[name], "# yaml-language-server: $schema=")
		schema, _, _ = strings.Cut(schema, "\n")
		if at := filepath.ToSlash(filepath.Join(filepath.Dir(name), schema)); strings.HasSuffix(name, ".yaml") && (!says || files[at] == "") {
			t.Errorf("%s names the schema %q, which is not at %s", name, schema, at)
		}
	}
	if text := files["desk.yaml"]; !strings.Contains(text, "dormouse dev --agents "+dir+"\n") || !strings.Contains(text, "agents check "+dir+"\n") {
		t.Errorf("the commands do not find %s:\n%s", dir, text)
	}
}

func TestTheUsualDirectoryNeedsNoOption(t *testing.T) {
	if text := string(plan(t, Usual, "desk")[0].Text); strings.Contains(text, "--agents") || !strings.Contains(text, "dormouse agents check\n") {
		t.Error(text)
	}
}

func TestWhatIsInTheWayIsNamedAndNothingIsWritten(t *testing.T) {
	for _, name := range []string{"desk.yaml", "scripts/desk.yaml", "tests/desk.yaml"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, name), "mine")
		_, _, err := Write(plan(t, dir, "desk"))
		if !errors.Is(err, ErrInTheWay) || !strings.Contains(err.Error(), filepath.FromSlash(name)) {
			t.Errorf("%s: %v", name, err)
		}
		if files := below(t, dir); len(files) != 1 || files[name] != "mine" {
			t.Errorf("%s: the directory has %v", name, files)
		}
	}
}

func TestALinkThatLeadsNowhereIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "desk.yaml")); err != nil {
		t.Skip("this system makes no links: " + err.Error())
	}
	if _, _, err := Write(plan(t, dir, "desk")); !errors.Is(err, ErrInTheWay) {
		t.Error(err)
	}
}

func TestSchemasThatAreThereAreKept(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "schemas", "agent.json"), "older")
	write(t, filepath.Join(dir, "schemas", "test.json"), "{}\n")
	written, kept, err := Write(plan(t, dir, "desk"))
	if err != nil || len(written) != 4 {
		t.Fatal(written, err)
	}
	if len(kept) != 1 || kept[0] != filepath.Join(dir, "schemas", "agent.json") {
		t.Errorf("kept %v, want the one with another text", kept)
	}
	if text := below(t, dir)["schemas/agent.json"]; text != "older" {
		t.Errorf("the schema is now %q", text)
	}
}

func TestWhatWasWrittenIsTakenBackIfTheRestCannotBe(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tests"), "a file where a directory must be")
	if _, _, err := Write(plan(t, dir, "desk")); err == nil {
		t.Fatal("no error")
	}
	if files := below(t, dir); len(files) != 1 {
		t.Errorf("the directory has %v", files)
	}
}

func TestNothingIsLeftWhereAFileStandsInThePlaceOfADirectory(t *testing.T) {
	for _, name := range []string{"scripts", "tests", "schemas"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, name), "mine")
		_, _, err := Write(plan(t, dir, "desk"))
		if !errors.Is(err, ErrInTheWay) || !strings.Contains(err.Error(), filepath.Join(dir, name)+" is there already, and must be a directory") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s: the directory has %v, %v", name, left, err)
		}
	}
}

func TestDirectoriesAboveAreTakenBackToo(t *testing.T) {
	top := t.TempDir()
	files := plan(t, filepath.Join(top, "a", "b"), "desk")
	files[len(files)-1].Path = filepath.Join(files[0].Path, "below a file", "x.json")
	if _, _, err := Write(files); !errors.Is(err, ErrInTheWay) {
		t.Error(err)
	}
	if left, err := os.ReadDir(top); err != nil || len(left) > 0 {
		t.Errorf("the directory has %v, %v", left, err)
	}
}

func TestADirectoryThatWasThereStaysThoughItIsEmpty(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "schemas"), "mine")
	if _, _, err := Write(plan(t, dir, "desk")); err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the directory has %v, %v", left, err)
	}
}
