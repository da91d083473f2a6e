package agentfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
)

func TestAProblemSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	for message, want := range map[string]agentfile.Problem{
		`unknown field "tols" in an agent; it takes name, tools`: {Text: `unknown field "tols" in an agent`,
			Fix: `did you mean "tools"? it takes name, tools`},
		`unknown field "weather" in an agent; it takes name, tools`: {Text: `unknown field "weather" in an agent`,
			Fix: `it takes name, tools`},
		`delivery cannot be "at_most_onec"; it is one of at_least_once, at_most_once`: {Text: `delivery cannot be "at_most_onec"`,
			Fix: `did you mean "at_most_once"? it is one of at_least_once, at_most_once`},
		`this program has no hook "desk.onc"; name one it has (desk.once, x), or build one`: {Text: `this program has no hook "desk.onc"`,
			Fix: `did you mean "desk.once"? name one it has (desk.once, x), or build one`},
		`instructions is an alias (they are not read; write the value out)`:   {Text: `instructions is an alias (they are not read; write the value out)`},
		`a is an alias (not read; nor merged); write it out (once; or twice)`: {Text: `a is an alias (not read; nor merged)`, Fix: `write it out (once; or twice)`},
		`there is no tool "a; \"b; c"; name one it has (x)`:                   {Text: `there is no tool "a; \"b; c"`, Fix: `name one it has (x)`},
		`a smile :) is no key; remove it`:                                     {Text: `a smile :) is no key`, Fix: `remove it`},
		`"( is no key; remove it`:                                             {Text: `"( is no key`, Fix: `remove it`},
		`tool "got" needs exactly one of go and recorded`:                     {Text: `tool "got" needs exactly one of go and recorded`},
	} {
		want.File, want.Line = "a.yaml", 7
		if diff := cmp.Diff(want, agentfile.NewProblem("a.yaml", 7, message)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTheNearestNameIsOneThatMayHaveBeenMeant(t *testing.T) {
	names := []string{"go", "say", "tools", "permissions", "read_only", "id"}
	for name, want := range map[string]string{
		"tolos": "tools", "tool": "tools", "permission": "permissions", "premissions": "permissions", "readonly": "read_only",
		"READ_ONLY": "read_only", "sya": "say", "x": "", "foo": "", "weather": "", "": "", "über": "",
	} {
		if got := agent.Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestProblemsOfAnErrorAreItsParts(t *testing.T) {
	_, err := agentfile.Parse("a.yaml", []byte("modle: {}\ntools: 1\n"), noFiles)
	got := agentfile.Problems("other.yaml", errors.Join(err, errors.New("the disk is full; make room")))
	want := []agentfile.Problem{{File: "a.yaml", Line: 1}, {File: "a.yaml", Line: 1}, {File: "a.yaml", Line: 2}, {File: "other.yaml", Line: 1}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(agentfile.Problem{}, "Text", "Fix")); diff != "" {
		t.Error(diff)
	}
	if text := got[3].String(); text != "other.yaml:1: the disk is full; make room" {
		t.Error(text)
	}
	if agentfile.Problems("a.yaml", nil) != nil {
		t.Error("no error has problems")
	}
}

// written is a directory with these files.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestASurveyGoesOnBehindWhatIsWrong(t *testing.T) {
	dir := written(t, map[string]string{
		"a.yaml": head + "name: same", "b.yaml": head + "\n\nname: same", "c.yaml": head + "tols: []", "d.yml": head, "notes.txt": "no agent",
	})
	agents, problems, err := agentfile.Survey(dir, filepath.Join(dir, "d.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range agents {
		names = append(names, filepath.Base(a.File)+" "+a.Name)
	}
	if diff := cmp.Diff([]string{"a.yaml same", "d.yml d"}, names); diff != "" {
		t.Error(diff)
	}
	want := []agentfile.Problem{{File: filepath.Join(dir, "b.yaml"), Line: 4}, {File: filepath.Join(dir, "c.yaml"), Line: 2}}
	if diff := cmp.Diff(want, problems, cmpopts.IgnoreFields(agentfile.Problem{}, "Text", "Fix")); diff != "" {
		t.Errorf("%s\n%v", diff, problems)
	}
	if _, _, err := agentfile.Survey(filepath.Join(dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a name that is not there: %v", err)
	}
}

func TestTheLineOfAValueIsWhereTheFileSaysIt(t *testing.T) {
	dir := written(t, map[string]string{"a.yaml": head + "hooks:\n  - one\n  - two\ntools:\n  - {name: t, go: two}\nmemory: two\n"})
	agents, _, err := agentfile.Survey(dir)
	if err != nil || len(agents) != 1 {
		t.Fatal(agents, err)
	}
	for _, tt := range []struct {
		key, value string
		want       int
	}{{"hooks", "two", 4}, {"go", "two", 6}, {"memory", "two", 7}, {"go", "three", 1}} {
		if got := agents[0].Line(tt.key, tt.value); got != tt.want {
			t.Errorf("%s: %s is on line %d, want %d", tt.key, tt.value, got, tt.want)
		}
	}
}

func TestCheckNameTakesWhatTheLoaderTakes(t *testing.T) {
	for _, name := range []string{"desk", "a", "my-desk_2", "2nd", strings.Repeat("a", 64), "", "-a", "A", "a b", "../a", "a.b", strings.Repeat("a", 65)} {
		_, err := agentfile.Parse("x.yaml", []byte(head+`name: "`+name+`"`), noFiles)
		if got := agentfile.CheckName(name); (got == nil) != (err == nil) {
			t.Errorf("%q: %v, and the loader says %v", name, got, err)
		}
	}
}
