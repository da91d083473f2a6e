package hookfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
)

const slackHook = "verify: {scheme: slack, secret: S}\n"

const good = "verify: {scheme: github, secret: HOOK_GITHUB}\nstart: {agent: desk, input: 'Issue {issue.title}'}\n"

func TestEveryMistakeIsNamedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    ":1: the file is empty",
		"start: {agent: a, input: x}":         ":1: a hook needs verify",
		"verify: {scheme: github, secret: S}": ":1: a hook needs exactly one of start, message, decision and slack_app",
		good + "message: {thread: '{t}', text: x}":                                          ":1: a hook needs exactly one of",
		good + "colour: red":                                                                `:3: unknown field "colour" in a hook`,
		"verify: {scheme: sha1, secret: S}\nstart: {agent: a, input: x}":                    `:1: scheme cannot be "sha1"`,
		"verify: {secret: S}\nstart: {agent: a, input: x}":                                  ":1: verify needs scheme",
		"verify: {scheme: slack, secret: 8f742231b10e}\nstart: {agent: a, input: x}":        ":1: verify needs secret: the name of the secret, not the secret itself",
		"verify: {scheme: slack, secret: S, public_key: '00'}\nstart: {agent: a, input: x}": ":1: only discord has a public key",
		"verify: {scheme: discord, secret: S}\nstart: {agent: a, input: x}":                 ":1: discord signs with its own private key",
		"verify: {scheme: discord, public_key: '00'}\nstart: {agent: a, input: x}":          ":1: discord needs public_key",
		good + "tenant: UPPER":                              `:3: "UPPER" is not a valid tenant`,
		good + "agents: [desk]":                             ":3: agents limits messages and decisions",
		good + "by: sender login":                           ":3: by must be a path into the body",
		good + "id: {}":                                     ":3: id needs exactly one of path and header",
		good + "when: [{path: action, equals: a, in: [b]}]": ":3: when needs one test",
		good + "when: [{argument: action, equals: a}]":      `:3: unknown field "argument"`,
		good + "when: []":                                   ":3: when is an empty list",
		good + "when: 'action is opened'":                   ":3: when: ",
		good + "when: 'title =~ \"(\"'":                     ":3: not a regular expression",
		"verify: {scheme: github, secret: S}\nstart: {agent: a, input: '{secret:TOKEN}'}":               ":2: input would show a secret to the model",
		"verify: {scheme: github, secret: S}\nstart: {agent: a, input: '{'}":                            ":2: input: a brace belongs to no placeholder",
		"verify: {scheme: github, secret: S}\nstart: {agent: a}":                                        ":2: input is missing",
		"verify: {scheme: github, secret: S}\nstart: {agent: A B, input: x}":                            ":2: start needs agent",
		"verify: {scheme: github, secret: S}\nstart: {agent: a, input: x, on_pending: maybe}":           `:2: on_pending cannot be "maybe"`,
		"verify: {scheme: github, secret: S}\nstart: {agent: a, input: x, metadata: {n: 7}}":            ":2: n must be text",
		"verify: {scheme: github, secret: S}\nmessage: {text: x}":                                       ":2: message needs exactly one of thread and thread_key",
		"verify: {scheme: github, secret: S}\ndecision: {target: '{t}'}":                                ":2: decision needs action",
		"verify: {scheme: github, secret: S}\ndecision: {target: '{t}', action: approve}":               `:2: action cannot be "approve"`,
		"verify: {scheme: github, secret: S}\ndecision: {target: '{t}', action: {path: a}}":             ":2: action needs values",
		"verify: {scheme: github, secret: S}\ndecision: {target: '{t}', action: {values: {a: b}}}":      ":2: action needs path",
		"verify: {scheme: github, secret: S}\ndecision: {target: '{t}', action: {path: a, values: {}}}": ":2: values is empty",
		slackHook + "slack_app: {team: T012}":                                                           ":2: slack_app needs token",
		slackHook + "slack_app: {token: xoxb-1, team: T012}":                                            ":2: slack_app needs token",
		slackHook + "slack_app: {token: S, team: acme}":                                                 ":2: slack_app needs team",
		slackHook + "by: user.id\nslack_app: {token: S, team: T012}":                                    ":2: by belongs to hooks that map a body",
		"verify: {scheme: github, secret: S}\nslack_app: {token: S, team: T012}":                        ":2: slack_app needs verify with the scheme slack",
		slackHook + "slack_app: {token: S, team: T012}\nmessage: {thread: '{t}', text: x}":              ":1: a hook needs exactly one of",
	} {
		_, err := hookfile.Parse("hooks/x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "hooks/x.yaml"+want) {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
	if _, err := hookfile.Parse("hooks/X Y.yaml", []byte(good)); err == nil || !strings.Contains(err.Error(), "not a valid hook name") {
		t.Error(err)
	}
}

func TestHooksLieBesideTheAgents(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := hookfile.Load(dir); err != nil || len(files) != 0 {
		t.Errorf("without the folder: %v, %v", files, err)
	}
	write("hooks/issues.yaml", good)
	write("hooks/issues.yml", good)
	write("hooks/wrong.yaml", "x: y\n")
	write("hooks/.hidden.yaml", "x: y\n")
	write("hooks/README.md", "x: y\n")
	write("hooks/more/deep.yaml", "x: y\n")
	files, err := hookfile.Load(dir)
	if err != nil || len(files) != 3 || files[0].Err != nil || files[1].Err == nil || files[2].Err == nil {
		t.Fatalf("%+v, %v", files, err)
	}
	if !strings.Contains(files[1].Err.Error(), "is also in") {
		t.Error(files[1].Err)
	}
	if agents, err := agentfile.Load(dir); err != nil || len(agents) != 0 {
		t.Errorf("the loader of agents: %v, %v", agents, err)
	}
}
