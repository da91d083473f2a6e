package agentfile_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

func TestTargetsOfNotices(t *testing.T) {
	text, err := os.ReadFile("testdata/published/notify.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := parse(t, string(text))
	want := []notice.Target{
		{Name: "pager", On: notice.Kinds, URL: "https://pager.example.com/hook?team=a", Secret: "PAGER_KEY"},
		{Name: "inside", On: notice.Set{notice.Done}, URL: "http://10.0.0.8:9000/", Format: notice.FormatStandard, Secret: "KEY", AllowPrivate: true},
		{Name: "chat", On: notice.Set{notice.Suspended}, URL: "https://hooks.example.com/services/T0/B0", Format: notice.FormatSlack},
		{Name: "teams", On: notice.Set{notice.Suspended}, URL: "https://flows.example.com/a", Format: notice.FormatTeams, Secret: "KEY"},
		{Name: "own", On: notice.Set{notice.Failed}, URL: "https://example.com/", Format: notice.FormatTemplate, Template: []byte(`{"n":1.50,"text":"{run}"}`)},
		{Name: "desk", On: notice.Set{notice.Suspended}, Slack: &notice.SlackChannel{Channel: "C0ABCDEF1", Token: "SLACK_TOKEN"}},
		{Name: "ops", On: notice.Set{notice.Failed}, Mail: []string{"ops@example.com", "anna@example.com"}},
		{Name: "boss", On: notice.Set{notice.Suspended}, Mail: []string{"boss@example.com"}, Require: notice.RequireCode},
	}
	if diff := cmp.Diff(want, d.Notify); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PAGER_KEY", "KEY", "SLACK_TOKEN"}, d.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	again, err := agent.Decode(d.Encode())
	if diff := cmp.Diff(d, again); err != nil || diff != "" {
		t.Errorf("%v; after Encode and Decode (-want +got):\n%s", err, diff)
	}
	without := d
	without.Notify = nil
	if without.Digest() == d.Digest() || strings.Contains(string(without.Encode()), "notify") {
		t.Error("the targets must be part of the version, and a version without any must keep its digest")
	}
}

func TestMistakesInTargetsHaveTheirLine(t *testing.T) {
	const good = `{name: a, on: [done], url: "https://a.example/", secret: S}`
	for text, want := range map[string]string{
		"notify: all\n": "a.yaml:2: notify must be a list, not text; put",
		"notify: []\n":  "a.yaml:2: notify is an empty list; name a target, or remove it",
		"notify:\n  - " + good + "\n  - " + good + "\n":                                                                            `a.yaml:4: the target "a" is also on line 3; rename or remove one`,
		"notify:\n  - name: a\n    on: [done]\n    url: http://a.example\n":                                                        "a.yaml:5: notify: url: http is not encrypted; use https",
		"notify:\n  - name: a\n    on: [dnoe]\n    url: https://a.example\n":                                                       `a.yaml:4: notify: on: cannot be "dnoe"; did you mean "done"? it is one of suspended, reminded`,
		"notify:\n  - name: a\n    on: [done]\n    url: https://a.example\n":                                                       "a.yaml:3: notify: secret: missing; format standard needs",
		"notify:\n  - name: a\n    on: done\n":                                                                                     "a.yaml:4: on must be a list, not text",
		"notify:\n  - name: a\n    on: [done]\n    mail: []\n":                                                                     "a.yaml:5: mail is empty; fill it, or remove it",
		"notify:\n  - name: a\n    on: [done]\n    template:\n    url: https://a.example\n":                                        "a.yaml:5: template is empty; fill it, or remove it",
		"notify:\n  - name: a\n    on: [done]\n    url: https://a.example/xoxb-1234567890abc\n    format: slack\n":                 "a.yaml:5: notify: url contains a secret in plain text, and agent files are stored and shown; write {secret:NAME}",
		"notify:\n  - name: a\n    on: [done]\n    url: https://a.example\n    format: template\n    template: {a: [\"{a b}\"]}\n": "a.yaml:7: notify: template: {a b} is not a placeholder",
		"notify:\n  - name: a\n    on: [done]\n    url: https://a.example/{path}\n    format: slack\n":                             "a.yaml:5: notify: url: has a brace that belongs to no secret",
	} {
		_, err := agentfile.Parse("a.yaml", []byte(head+text), noFiles)
		if got := fmt.Sprint(err); !strings.HasPrefix(got, strings.TrimSuffix(want, "; put")) || strings.Count(got, "\n") > 0 {
			t.Errorf("%s\ngot  %v\nwant %s", text, got, want)
		}
	}
	many := "notify:\n"
	for i := range 11 {
		many += fmt.Sprintf("  - {name: a%d, on: [done], url: 'https://a.example/', secret: S}\n", i)
	}
	if _, err := agentfile.Parse("a.yaml", []byte(head+many), noFiles); fmt.Sprint(err) != "a.yaml:13: notify: 11 targets are too many; name at most 10" {
		t.Error(err)
	}
}

func TestSecretsOfTargetsAreThoseOfTheAgent(t *testing.T) {
	const text = "notify:\n  - {name: a, on: [done], url: 'https://a.example/{secret:PATH}', format: slack}\n" +
		"  - {name: b, on: [done], url: 'https://a.example/', format: template, secret: SIGNS, template: {key: '{secret:KEY}', run: '{run.id}'}}\n"
	d, err := agentfile.Parse("a.yaml", []byte(head+text), noFiles)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PATH", "SIGNS", "KEY"} {
		if !slices.Contains(d.Secrets(), want) {
			t.Errorf("no %s in %q", want, d.Secrets())
		}
	}
}
