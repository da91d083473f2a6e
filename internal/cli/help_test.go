package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// verbs are all commands of the program, those below others included.
func verbs(cmd *cobra.Command) (all []*cobra.Command) {
	for _, below := range cmd.Commands() {
		all = append(all, below)
		all = append(all, verbs(below)...)
	}
	return all
}

func tree() *cobra.Command {
	return (&app{&cmdline.App{Opts: cmdline.Options{Getenv: func(string) string { return "" }}}}).root()
}

func TestEveryVerbOfTheTreeHasHelpAndAnExampleThatNamesIt(t *testing.T) {
	all := verbs(tree())
	if len(all) < 15 {
		t.Fatalf("only %d verbs are there", len(all))
	}
	for _, cmd := range all {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: its short help is %q; one line without a full stop", cmd.CommandPath(), cmd.Short)
		}
		named := !cmd.Runnable() // a group of verbs, or a topic
		for line := range strings.Lines(cmd.Example) {
			named = named || strings.Contains(line, cmd.CommandPath()) || strings.Contains(line, "dormouse help "+cmd.Name())
		}
		if !named {
			t.Errorf("%s has no example that begins with it:\n%s", cmd.CommandPath(), cmd.Example)
		}
	}
}

func TestGoldenHelp(t *testing.T) {
	// The flag belongs to the other tests of this package, too.
	update := flag.Lookup("update").Value.String() == "true"
	names := []string{""}
	for _, cmd := range verbs(tree()) {
		names = append(names, strings.TrimPrefix(cmd.CommandPath(), "dormouse "))
	}
	for _, name := range names {
		root := tree()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(append([]string{"help"}, strings.Fields(name)...))
		if err := root.Execute(); err != nil {
			t.Fatalf("help %s: %v", name, err)
		}
		file := filepath.Join("testdata", "help", strings.ReplaceAll("dormouse "+name, " ", "_")+".golden.txt")
		if name == "" {
			file = filepath.Join("testdata", "help", "dormouse.golden.txt")
		}
		if update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; if the verb is new: go test ./internal/cli -run Golden -update", err)
			continue
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s (-want +got); if it is meant: go test ./internal/cli -run Golden -update\n%s", file, diff)
		}
	}
}
