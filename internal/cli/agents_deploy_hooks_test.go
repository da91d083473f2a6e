package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const (
	issuesHook = "verify: {scheme: github, secret: HOOK_GITHUB}\nstart: {agent: a, input: '{title}'}\n"
	slackHook  = "verify: {scheme: slack, secret: HOOK_SLACK}\nslack_app: {token: SLACK_TOKEN, team: T0ACME}\n"
)

// withHooks is a directory with the agent a and hook files.
func withHooks(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := agentsDir(t, map[string]string{"a": speaker})
	if err := os.Mkdir(filepath.Join(dir, "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "hooks", name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// deployedHooks runs agents deploy and returns what becomes of each hook.
func deployedHooks(t *testing.T, args ...string) map[string]string {
	t.Helper()
	out := dormouse(t, nil, append([]string{"agents", "deploy", "--table", "stack", "--json"}, args...)...)
	out.wantExit(t, cmdline.ExitOK)
	var d struct {
		Hooks []struct{ Name, Change string }
	}
	if err := json.Unmarshal([]byte(out.stdout), &d); err != nil {
		t.Fatal(err)
	}
	changes := map[string]string{}
	for _, h := range d.Hooks {
		changes[h.Name] = h.Change
	}
	return changes
}

func TestHooksAreDeployedWithTheAgents(t *testing.T) {
	_, store := onAWS(t)
	both := withHooks(t, map[string]string{"issues": issuesHook, "slack": slackHook, "theirs": "tenant: other\n" + issuesHook})
	wantChanges(t, deployedHooks(t, both, "--dry-run"), `{"issues":"new","slack":"new"}`)
	if all, err := store.HookFiles(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("a dry run deployed %+v, %v", all, err)
	}
	wantChanges(t, deployedHooks(t, both), `{"issues":"new","slack":"new"}`)
	wantChanges(t, deployedHooks(t, withHooks(t, map[string]string{"theirs": "tenant: other\n" + issuesHook}), "--tenant", "other"), `{"theirs":"new"}`)
	one := withHooks(t, map[string]string{"issues": issuesHook + "by: sender\n"})
	wantChanges(t, deployedHooks(t, one, "--keep"), `{"issues":"changed","slack":"same"}`)
	wantChanges(t, deployedHooks(t, one), `{"issues":"same","slack":"removed"}`)
	all, err := store.HookFiles(t.Context())
	if err != nil || len(all) != 2 || all[0].Text != issuesHook+"by: sender\n" || all[1].Name != "theirs" || all[1].Tenant != "other" {
		t.Errorf("%+v, %v", all, err)
	}
	out := dormouse(t, nil, "agents", "deploy", both, "--table", "stack")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "HOOK", "slack", "the hook function of the stack reads the secret HOOK_SLACK", "reads the secret SLACK_TOKEN")
}

func TestWhatAStacksHooksCannotDoIsNotDeployed(t *testing.T) {
	double, store := onAWS(t)
	for name, tt := range map[string]struct{ file, want string }{
		"a wrong file":              {"verify: {scheme: wax}\n", "bad.yaml:"},
		"a secret of another name":  {strings.Replace(issuesHook, "HOOK_GITHUB", "SHOP_TOKEN", 1), "a stack's hooks can't read the secret SHOP_TOKEN; rename it, so that it begins with HOOK_"},
		"a token of another name":   {strings.Replace(slackHook, "SLACK_TOKEN", "CHAT_TOKEN", 1), "can't read the secret CHAT_TOKEN; rename it, so that it begins with SLACK_"},
		"a Slack app without HOOK_": {strings.Replace(slackHook, "HOOK_SLACK", "SLACK_SIGNING", 1), "can't read the secret SLACK_SIGNING"},
	} {
		t.Run(name, func(t *testing.T) {
			out := dormouse(t, nil, "agents", "deploy", withHooks(t, map[string]string{"bad": tt.file}), "--table", "stack")
			out.wantExit(t, cmdline.ExitUsage)
			contains(t, out.stderr, tt.want, "nothing was deployed")
		})
	}
	if n := double.Requests()["PutItem"]; n != 0 {
		t.Errorf("%d items were written", n)
	}
	deployedHooks(t, withHooks(t, map[string]string{"issues": issuesHook}), "--tenant", "other")
	out := dormouse(t, nil, "agents", "deploy", withHooks(t, map[string]string{"issues": issuesHook}), "--table", "stack")
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, `the hook "issues" belongs to the tenant other; rename the file`)
	if there := current(t, store, "default"); len(there) != 0 {
		t.Errorf("its agents were deployed: %v", there)
	}
	if f, err := store.HookFile(t.Context(), "issues"); err != nil || f.Tenant != "other" {
		t.Errorf("%+v, %v", f, err)
	}
}
