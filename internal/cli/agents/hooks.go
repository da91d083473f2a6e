package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// What the names of secrets must begin with on a stack: the function that receives webhooks can
// read no others.
const (
	hookSecrets = "HOOK_"
	slackTokens = "SLACK_"
)

// deployableHooks reads the hook files of a directory that belong to a tenant, with all that keeps
// them from a stack. A single agent file has none.
func deployableHooks(dir, tenant string) (files []hookfile.File, problems []agentfile.Problem, err error) {
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return nil, nil, nil
	}
	loaded, err := hookfile.Load(dir)
	if err != nil {
		return nil, nil, cmdline.Usagef("cannot read the hook files: %v", err)
	}
	for _, f := range loaded {
		problems = append(problems, agentfile.Problems(f.Path, f.Err)...)
		problems = append(problems, unreadableSecrets(f)...)
		if cmp.Or(f.Hook.Tenant, tenant) == tenant {
			files = append(files, f)
		}
	}
	return files, problems, nil
}

// unreadableSecrets are the secrets that the function for webhooks may not read.
func unreadableSecrets(f hookfile.File) (problems []agentfile.Problem) {
	refuse := func(name, prefix string) {
		if name != "" && !strings.HasPrefix(name, prefix) {
			problems = append(problems, agentfile.NewProblem(f.Path, 1, fmt.Sprintf("a stack's hooks can't read the secret %s; rename it, so that it begins with %s", name, prefix)))
		}
	}
	refuse(f.Hook.Verify.Secret, hookSecrets)
	if f.Hook.SlackApp != nil {
		refuse(f.Hook.SlackApp.Token, slackTokens)
	}
	return problems
}

// hookNotes are the secrets of hooks, which the functions of the stack must have.
func hookNotes(files []hookfile.File) (notes []note) {
	for _, f := range files {
		names := []string{f.Hook.Verify.Secret}
		if f.Hook.SlackApp != nil {
			names = append(names, f.Hook.SlackApp.Token)
		}
		for _, name := range names {
			if name != "" {
				notes = append(notes, note{f.Path, "hook " + f.Name + ": the hook function of the stack reads the secret " + name + "; add it as a parameter under SecretsPath"})
			}
		}
	}
	return notes
}

// deployHooks makes the changes of [hookChanges]. Hooks of other tenants stay.
func deployHooks(ctx context.Context, to awscli.Hooks, files []hookfile.File, changes []deployedHook, f deployFlags) (err error) {
	texts := map[string]string{}
	for _, file := range files {
		texts[file.Name] = string(file.Text)
	}
	for i, change := range changes {
		switch change.Change {
		case agentNew, agentChanged:
			err = to.PutHook(ctx, engine.HookFile{Name: change.Name, Tenant: f.tenant, Text: texts[change.Name]})
		case agentRemoved:
			err = to.RemoveHook(ctx, f.tenant, change.Name)
		}
		if errors.Is(err, engine.ErrRefused) {
			return cmdline.Usagef("the hook %s was deployed for another tenant, or removed, at the same moment; run the same command again", change.Name)
		}
		if err != nil {
			return &partly{fmt.Sprintf("all agents and %d of %d hooks were deployed, %s failed; run the same command again", i, len(changes), change.Name), err}
		}
	}
	return nil
}

// hookChanges says what a deployment does to each hook of the tenant, by name.
func hookChanges(ctx context.Context, to awscli.Hooks, files []hookfile.File, f deployFlags) ([]deployedHook, error) {
	before, err := to.HookFiles(ctx)
	if err != nil {
		return nil, err
	}
	was := map[string]engine.HookFile{}
	for _, h := range before {
		was[h.Name] = h
	}
	changes := []deployedHook{}
	for _, file := range files {
		old, there := was[file.Name]
		change := agentChanged
		switch {
		case !there:
			change = agentNew
		case old.Tenant != f.tenant:
			return nil, cmdline.Usagef("%s: the hook %q belongs to the tenant %s; rename the file, or say in it which tenant it is for (all tenants share the addresses of hooks)", file.Path, file.Name, old.Tenant)
		case old.Text == string(file.Text):
			change = agentSame
		}
		delete(was, file.Name)
		changes = append(changes, deployedHook{file.Name, change})
	}
	for name, old := range was {
		switch {
		case old.Tenant != f.tenant:
		case f.keep:
			changes = append(changes, deployedHook{name, agentSame})
		default:
			changes = append(changes, deployedHook{name, agentRemoved})
		}
	}
	slices.SortFunc(changes, func(x, y deployedHook) int { return cmp.Compare(x.Name, y.Name) })
	return changes, nil
}
