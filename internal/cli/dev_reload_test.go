package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/program"
)

func TestOneLineTellsWhatBecameOfAnAgent(t *testing.T) {
	wrong := []agentfile.Problem{{File: "agents/desk.yaml", Line: 7, Text: `unknown key "tolls"`, Fix: `did you mean "tools"?`}}
	for _, tt := range []struct {
		change     program.Change
		line, json string
	}{
		{program.Change{Name: "desk", What: program.Reloaded, Version: "sha256:ab"},
			"agent desk: reloaded, version sha256:ab", `{"agent":"desk","change":"reloaded","version":"sha256:ab"}`},
		{program.Change{Name: "desk", What: program.Added, Version: "sha256:ab"},
			"agent desk: added, version sha256:ab", `{"agent":"desk","change":"added","version":"sha256:ab"}`},
		{program.Change{Name: "desk", What: program.Unchanged, Version: "sha256:ab"},
			"agent desk: unchanged, version sha256:ab", `{"agent":"desk","change":"unchanged","version":"sha256:ab"}`},
		{program.Change{Name: "desk", What: program.Corrected, Version: "sha256:ab"},
			"agent desk: corrected, version sha256:ab stays in use", `{"agent":"desk","change":"corrected","version":"sha256:ab"}`},
		{program.Change{Name: "desk", What: program.Removed},
			"agent desk: removed; new runs are refused, existing runs continue", `{"agent":"desk","change":"removed"}`},
		{program.Change{Name: "desk", What: program.Refused, Version: "sha256:ab", Problems: wrong},
			`agent desk: not reloaded, version sha256:ab stays in use: agents/desk.yaml:7: unknown key "tolls"; did you mean "tools"?`,
			`{"agent":"desk","change":"refused","version":"sha256:ab","problems":[{"file":"agents/desk.yaml","line":7,"problem":"unknown key \"tolls\"","fix":"did you mean \"tools\"?"}]}`},
		{program.Change{Name: "desk", What: program.Incomplete, Version: "sha256:ab", Problems: wrong},
			`agent desk: calls fail: agents/desk.yaml:7: unknown key "tolls"; did you mean "tools"?`,
			`{"agent":"desk","change":"incomplete","version":"sha256:ab","problems":[{"file":"agents/desk.yaml","line":7,"problem":"unknown key \"tolls\"","fix":"did you mean \"tools\"?"}]}`},
		{program.Change{Name: "desk", What: program.Refused, Problems: wrong},
			`agent desk: not served: agents/desk.yaml:7: unknown key "tolls"; did you mean "tools"?`, ""},
		{program.Change{Name: "desk", What: program.Refused, Problems: append(wrong, wrong...)},
			`agent desk: not served: agents/desk.yaml:7: unknown key "tolls"; did you mean "tools"? (and 1 problem more: dormouse agents check 'my agents')`, ""},
		{program.Change{Name: "desk", What: program.Refused, Problems: []agentfile.Problem{{File: "a\x1b[2J.yaml", Line: 1, Text: "a\nb"}}},
			`agent desk: not served: a\x1b[2J.yaml:1: a\nb`, ""},
	} {
		for _, asJSON := range []bool{false, true} {
			var out strings.Builder
			a := &app{&cmdline.App{Stdout: &out, JSON: asJSON, Opts: cmdline.Options{Getenv: func(string) string { return "" }}}}
			if err := a.printReloads([]program.Change{tt.change}, "my agents"); err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{false: tt.line, true: tt.json}[asJSON] + "\n"
			if asJSON && tt.json == "" {
				continue
			}
			if out.String() != want {
				t.Errorf("%+v:\ngot  %s\nwant %s", tt.change, out.String(), want)
			}
		}
	}
}

func TestServeHasTheFlagsOfDevAndTwoOtherDefaults(t *testing.T) {
	flagsOf := func(verb string) map[string]string {
		found := map[string]string{}
		for _, cmd := range tree().Commands() {
			if cmd.Name() == verb {
				cmd.Flags().VisitAll(func(f *pflag.Flag) { found[f.Name] = f.DefValue })
			}
		}
		return found
	}
	dev, serve := flagsOf("dev"), flagsOf("serve")
	if _, there := dev["example"]; !there {
		t.Error("dev has no --example")
	}
	delete(dev, "example") // which production has no use for
	if len(dev) < 20 || len(dev) != len(serve) {
		t.Fatalf("dev has %d flags, serve %d", len(dev), len(serve))
	}
	for name, usual := range dev {
		want := usual
		switch name {
		case "watch":
			want = "false"
		case "strict":
			want = "true"
		}
		if got, there := serve[name]; !there || got != want || want != usual == (name != "watch" && name != "strict") {
			t.Errorf("--%s is %q by default in dev and %q in serve", name, usual, got)
		}
	}
}
