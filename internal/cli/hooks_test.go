package cli_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const hookOfIssues = `verify: {scheme: github, secret: HOOK_GITHUB}
when: 'action == "opened"'
by: sender.login
start: {agent: desk, input: "Issue {issue.number}"}
`

// hooks runs a command for hook files, with a body on standard input.
func hooks(t *testing.T, dir, body string, args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := cli.Main(t.Context(), append([]string{"hooks", "--agents", dir}, args...), strings.NewReader(body), &stdout, &stderr,
		cmdline.Options{Getenv: func(string) string { return "" }})
	return output{exit, stdout.String(), stderr.String()}
}

func TestHooksAreCheckedListedAndTried(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "hooks", "issues.yaml"), hookOfIssues)
	for _, c := range []struct {
		body string
		args []string
		exit int
		says string
	}{
		{"", []string{"check"}, 0, "note: the secret HOOK_GITHUB is not set here; set DORMOUSE_SECRET_HOOK_GITHUB for the server\n1 hook: OK"},
		{"", []string{"list"}, 0, "/v1/hooks/issues"},
		{"", []string{"list", "--json"}, 0, `"does":"starts a run of desk"`},
		{`{"action":"opened","issue":{"number":7},"sender":{"login":"octo"}}`, []string{"try", "issues", "--body", "-"}, 0, `"input": "Issue 7"`},
		{`{"action":"opened","issue":{"number":7},"sender":{"login":"octo"}}`, []string{"try", "issues", "--body", "-", "--json"}, 0, `"by":"hook:issues/octo"`},
		{`{"action":"closed"}`, []string{"try", "issues", "--body", "-"}, 0, "ignored: the condition on action"},
		{`{"action":"opened"}`, []string{"try", "issues", "--body", "-"}, 1, "sender.login"},
		{`[]`, []string{"try", "issues", "--body", "-"}, 1, "neither a JSON object nor a form"},
		{`{}`, []string{"try", "nothing", "--body", "-"}, 2, "there is no hook nothing"},
		{`{}`, []string{"try", "issues"}, 2, "--body is missing"},
		{`{}`, []string{"try", "issues", "--body", "-", "--header", "x"}, 2, "has no colon"},
	} {
		got := hooks(t, dir, c.body, c.args...)
		if got.exit != c.exit || !strings.Contains(got.stdout+got.stderr, c.says) {
			t.Errorf("%v: exit %d\n%s%s", c.args, got.exit, got.stdout, got.stderr)
		}
	}
	slack := t.TempDir()
	put(t, filepath.Join(slack, "hooks", "slack.yaml"), "verify: {scheme: slack, secret: SLACK_SIGNING}\nslack_app: {token: SLACK_TOKEN, team: T0DORMOUSE}\n")
	for _, name := range []string{"SLACK_SIGNING", "SLACK_TOKEN"} {
		if got := hooks(t, slack, "", "check"); got.exit != 0 || !strings.Contains(got.stdout, "the secret "+name+" is not set here; set DORMOUSE_SECRET_"+name) {
			t.Errorf("exit %d\n%s%s", got.exit, got.stdout, got.stderr)
		}
	}
	put(t, filepath.Join(dir, "hooks", "wrong.yaml"), "verify: {scheme: github}\n")
	if got := hooks(t, dir, "", "check"); got.exit != 1 || !strings.Contains(got.stdout, "wrong.yaml:1: ") || !strings.Contains(got.stderr, "2 errors in 2 hook files") {
		t.Errorf("exit %d\n%s%s", got.exit, got.stdout, got.stderr)
	}
	if got := hooks(t, t.TempDir(), "", "check"); got.exit != 2 {
		t.Errorf("without hooks: exit %d\n%s", got.exit, got.stderr)
	}
}
