package scaffold

import (
	"os/exec"
	"strings"
	"testing"
)

func TestAWordIsQuotedWhereAShellWouldReadItAsMoreOrAsSomethingElse(t *testing.T) {
	for text, want := range map[string]string{
		"agents": "agents", "work/my-desk_2.yaml": "work/my-desk_2.yaml", "http://127.0.0.1:8420": "http://127.0.0.1:8420",
		"": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~/x": "'~/x'", "http://[::1]:8420": "'http://[::1]:8420'", "=ls": "'=ls'",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestAShellReadsAWordAsWhatItWas(t *testing.T) {
	for _, text := range []string{"agents", "", "a b", "it's", "''", `a\b"c`, "$(false) `false` $HOME", "a;b|c&d>e", "*?[a]", "~", "#x", "\u00fcber", "a\nb"} {
		shell := exec.Command("sh", "-c", "printf '%s.' "+ShellWord(text))
		shell.Dir = t.TempDir() // what is quoted wrongly may write
		out, err := shell.Output()
		if got := string(out); err != nil || got != text+"." {
			t.Errorf("%q: a shell reads %q, %v", text, got, err)
		}
	}
}

func TestADirectoryIsNoFlag(t *testing.T) {
	argument, option := Naming("-all")
	if argument != " ./-all" || option != " --agents ./-all" {
		t.Errorf("%q, %q", argument, option)
	}
	files := plan(t, "a b", "desk")
	if text := string(files[0].Text); !strings.Contains(text, "agents check 'a b'\n") || !strings.Contains(text, "dev --agents 'a b'\n") {
		t.Errorf("the commands do not find the directory:\n%s", text)
	}
}
