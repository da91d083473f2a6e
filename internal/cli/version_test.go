package cli_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestTheVersionIsPrintedByTheVerbAndByBothFlags(t *testing.T) {
	for _, words := range [][]string{{"version"}, {"--version"}, {"-v"}} {
		for _, tt := range []struct {
			flags []string
			want  string
		}{
			{nil, "dormouse v1.2.3\n"},
			{[]string{"--json"}, `{"version":"v1.2.3"}` + "\n"},
		} {
			args := append(append([]string{}, words...), tt.flags...)
			out := dormouse(t, nil, args...)
			out.wantExit(t, cmdline.ExitOK)
			if out.stdout != tt.want || out.stderr != "" {
				t.Errorf("%q prints %q and %q, want %q", args, out.stdout, out.stderr, tt.want)
			}
		}
	}
}

func TestTheFlagsOfTheVersionTakeNothingElseAway(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		exit int
		says string
	}{
		"no verb is help":       {nil, cmdline.ExitOK, "Run Commands:"},
		"JSON alone is help":    {[]string{"--json"}, cmdline.ExitOK, "Run Commands:"},
		"before it as well":     {[]string{"--json", "-v"}, cmdline.ExitOK, `{"version":"v1.2.3"}`},
		"not with a verb":       {[]string{"runs", "-v"}, cmdline.ExitUsage, "unknown shorthand flag: 'v'"},
		"not with another word": {[]string{"--version", "now"}, cmdline.ExitUsage, `unknown command "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			out := dormouse(t, nil, tt.args...)
			out.wantExit(t, tt.exit)
			contains(t, out.stdout+out.stderr, tt.says)
		})
	}
}
