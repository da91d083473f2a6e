package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// deployFlags are the flags of agents deploy.
type deployFlags struct {
	table, tenant, region string
	dry, keep             bool
}

func (f *deployFlags) where(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.table, "table", "", "DynamoDB `TABLE` of the stack (its output TableName)")
	cmd.Flags().StringVar(&f.tenant, "tenant", access.Tenant, "`TENANT` of the agents")
	cmd.Flags().StringVar(&f.region, "region", "", "AWS `REGION` of the table (default: $AWS_REGION, then the profile's)")
}

func (a *app) agentsDeployCommand() *cobra.Command {
	var f deployFlags
	cmd := &cobra.Command{
		Use:   "deploy DIR",
		Short: "Deploy agents to an AWS stack",
		Long: `Deploy the agents in DIR to one tenant of an AWS stack. New runs use the deployed versions.
Agents that are not in DIR are undeployed, unless you pass --keep. Existing runs keep
their version, but the deny and block rules of the new version apply to them too. Stored
versions are never deleted. The hook files in the folder hooks of DIR are deployed, too;
their secrets begin with HOOK_, and the bot tokens of Slack apps with SLACK_.

The files are checked as by dormouse dev. Features that need files on a server are
refused: a recording as the model, the memory "notes", and effects that run a command.
If any agent is refused, nothing is written. The output shows which agents are new,
changed, the same and removed.

Credentials, region and endpoint come from the environment, the AWS profile or the
machine, as with other AWS tools. The credentials need dynamodb:GetItem, PutItem,
UpdateItem, DeleteItem, Query and BatchGetItem on the table and its indexes.`,
		Example: `  dormouse agents deploy agents --table dormouse-prod --region eu-central-1 --dry-run
  AWS_PROFILE=prod dormouse agents deploy agents --table dormouse-prod --tenant acme`,
		Args: cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.deployAgents(cmd.Context(), args[0], f) },
	}
	f.where(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show the changes without making them")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "keep deployed agents that are not in DIR; DIR may then be a single file")
	return cmd
}

// What a deployment does to an agent. Scripts rely on these values.
const (
	agentNew     = "new"
	agentChanged = "changed"
	agentSame    = "same"
	agentRemoved = "removed"
)

// deployment is what agents deploy prints with --json.
type deployment struct {
	Table  string          `json:"table"`
	Tenant string          `json:"tenant"`
	DryRun bool            `json:"dry_run"`
	Agents []deployedAgent `json:"agents"`
	Hooks  []deployedHook  `json:"hooks"`
	Notes  []note          `json:"notes"`
}

type deployedAgent struct {
	Name   string `json:"name"`
	Change string `json:"change"`
	From   string `json:"from,omitempty"` // the version before
	To     string `json:"to,omitempty"`   // the version now
}

type deployedHook struct {
	Name   string `json:"name"`
	Change string `json:"change"`
}

func (a *app) deployAgents(ctx context.Context, dir string, f deployFlags) error {
	if err := cmp.Or(f.check(), f.whole(dir)); err != nil {
		return err
	}
	hooks, wrong, err := deployableHooks(dir, f.tenant)
	if err != nil {
		return err
	}
	agents, err := a.deployable(dir, f, wrong)
	if err != nil {
		return err
	}
	// those of other tenants
	agents = slices.DeleteFunc(agents, func(d agentfile.Surveyed) bool { return !d.MayBeUsedBy(f.tenant, f.tenant) })
	table, err := awscli.OpenTable(ctx, f.table, f.region)
	if err != nil {
		return err
	}
	changes, err := hookChanges(ctx, table, hooks, f) // before anything is written
	var done deployment
	if err == nil {
		done, err = deploy(ctx, table, agents, f)
	}
	if err == nil && !f.dry {
		err = deployHooks(ctx, table, hooks, changes, f)
	}
	if err != nil {
		return stopped(ctx, halfway(err, table.Explain(err, "write agents")))
	}
	done.Hooks, done.Notes = changes, append(stackNotes(agents), hookNotes(hooks)...)
	return a.printDeployment(done)
}

// stopped is why ctx ended, if it did. Errors that follow from that are not reported.
func stopped(ctx context.Context, err error) error { return cmp.Or(ctx.Err(), err) }

func (f deployFlags) check() error {
	switch {
	case f.table == "":
		return cmdline.Usagef("--table is missing; set it to the output TableName of the stack")
	case f.tenant == "":
		return cmdline.Usagef("--tenant is empty; omit it for the tenant %q", access.Tenant)
	}
	if err := access.CheckTenant(f.tenant); err != nil {
		return cmdline.Usagef("--tenant: %v", err)
	}
	return nil
}

// whole refuses to undeploy all agents that are not in a single file, which is rarely intended.
func (f deployFlags) whole(name string) error {
	// a missing file gets a better error later
	if at, err := os.Stat(name); f.keep || err != nil || at.IsDir() {
		return nil
	}
	return cmdline.Usagef("%s is a single file, so all other agents would be undeployed; pass --keep to keep them, or pass the directory", name)
}

// deployable reads the agents of a directory. It reports all problems on a stack, and those of the
// directory's hooks, as one error.
func (a *app) deployable(dir string, f deployFlags, ofHooks []agentfile.Problem) ([]agentfile.Surveyed, error) {
	agents, problems, err := agentfile.Survey(dir)
	if err != nil {
		return nil, cmdline.Usagef("%v; pass a directory with agents", err)
	}
	if len(agents)+len(problems) == 0 {
		return nil, cmdline.Usagef("%s has no agents; to create one: dormouse new NAME", dir)
	}
	allRead := len(problems) == 0
	lacking, err := a.lacking(agents, nil)
	if err != nil {
		return nil, err
	}
	problems = slices.Concat(problems, lacking, ofHooks)
	for _, d := range agents {
		problems = append(problems, offStack(d)...)
	}
	if allRead && !f.keep { // otherwise the agents that are kept count, too
		problems = append(problems, deployedCalls(agents, nil, f.tenant)...)
	}
	return agents, undeployable(problems)
}

// undeployable is why nothing was deployed; nil without problems.
func undeployable(problems []agentfile.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	byPlace(problems)
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return cmdline.Usagef("%s\n%s found; nothing was deployed", strings.Join(lines, "\n"), display.Counted(len(problems), "problem"))
}

// offStack reports features that the functions of a stack lack, because they have no files.
func offStack(d agentfile.Surveyed) (problems []agentfile.Problem) {
	refuse := func(key, value, text string) {
		problems = append(problems, agentfile.NewProblem(d.File, d.Line(key, value), text))
	}
	if d.Model.Provider == agent.ProviderRecorded {
		refuse("provider", agent.ProviderRecorded, "a stack has no files, so it can't use a recording as the model; use the provider scripted, "+
			"or create the agents with dormouse-proof replay FILE --agents-to DIR")
	}
	if d.Memory == "notes" {
		refuse("memory", d.Memory, `a stack has no files, so it can't use the memory "notes"; remove memory, `+
			"or build functions that register another memory")
	}
	for _, e := range d.Effects {
		if e.Go == "" {
			refuse("name", e.Name, fmt.Sprintf("a stack has no workspace, so the effect %q can't run a command; remove it, "+
				"or build functions that register a Go effect", e.Name))
		}
	}
	return problems
}

// stackNotes are what the functions of a stack need. This program can't see what they have.
func stackNotes(agents []agentfile.Surveyed) []note {
	notes := []note{}
	for _, n := range demandsOf(agents, secret.Environment(func(string) string { return "" })) {
		before, _, private := strings.Cut(n.Note, "; allow it with --allow-private-hosts")
		before, variable, unset := strings.Cut(before, " is not set; set the environment variable ")
		switch {
		case private:
			n.Note = before + "; set DORMOUSE_PRIVATE_HOSTS for the functions of the stack"
		case unset:
			n.Note = before + " is read by the step function of the stack; set " + variable + " there, or add a parameter under SecretsPath"
		}
		notes = append(notes, n)
	}
	for _, d := range agents {
		notes = append(notes, rightNotes(d)...)
	}
	return notes
}

// mails says whether the notices of an agent, or the one-time codes of their links, are mailed.
func mails(d agent.Definition) bool {
	return slices.ContainsFunc(d.Notify, func(t notice.Target) bool { return len(t.Mail) > 0 })
}

// rightNotes are the parameters of the template that give the step function the permissions of an
// agent.
func rightNotes(d agentfile.Surveyed) (notes []note) {
	say := func(what, parameter string) {
		notes = append(notes, note{d.File, fmt.Sprintf("agent %s: %s; add it to the stack parameter %s", d.Name, what, parameter)})
	}
	if d.Model.Provider == agent.ProviderBedrock {
		say("it calls the Bedrock model "+d.Model.ID, "BedrockModels")
	}
	if mails(d.Definition) {
		notes = append(notes, note{d.File, fmt.Sprintf("agent %s: it sends mail; set the stack parameter NoticeMailFrom", d.Name)})
	}
	if g := d.Model.Guardrail; g != nil {
		say("it uses the guardrail "+g.ID, "BedrockGuardrails")
	}
	for _, t := range d.Tools {
		if t.Lambda != nil {
			say("tool "+t.Name+" invokes the function "+t.Lambda.Function, "ToolFunctions")
		}
	}
	return notes
}

func (a *app) printDeployment(done deployment) error {
	if a.JSON {
		return a.PrintJSON(done)
	}
	rows := [][]string{{"AGENT", "CHANGE", "VERSION"}}
	count := map[string]int{}
	for _, d := range done.Agents {
		count[d.Change]++
		rows = append(rows, []string{d.Name, d.Change, cmp.Or(d.To, d.From)})
	}
	if err := a.List(rows); err != nil {
		return err
	}
	for i, h := range done.Hooks {
		if i == 0 {
			rows = [][]string{{"HOOK", "CHANGE"}}
		}
		rows = append(rows, []string{h.Name, h.Change})
	}
	if len(done.Hooks) > 0 {
		if err := a.List(rows); err != nil {
			return err
		}
	}
	did := "deployed to"
	if done.DryRun {
		did = "dry run, nothing was written; would deploy to"
	}
	err := a.Printf("%s %s for tenant %s: %d new, %d changed, %d the same, %d removed\n", did, display.Clean(done.Table), display.Clean(done.Tenant),
		count[agentNew], count[agentChanged], count[agentSame], count[agentRemoved])
	for _, n := range done.Notes {
		err = errors.Join(err, a.Print(display.Clean(n.File+": note: "+n.Note)+"\n"))
	}
	return err
}
