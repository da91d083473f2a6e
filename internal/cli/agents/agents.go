package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func (a *app) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agents",
		Short:   "Check, test, compare and deploy agent files",
		Example: "  dormouse agents check",
		Args:    cmdline.NoArgs,
		// cobra refuses no argument of what cannot be run
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.agentsCheckCommand(), a.agentsTestCommand(), a.agentsSchemaCommand(), a.agentsDiffCommand(),
		a.agentsDeployCommand(), a.agentsListCommand())
	return cmd
}

func (a *app) agentsDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff [DIR]",
		Short: "Show how changed agent files would affect waiting runs",
		Long: `Show how serving the agents in DIR (default agents) would affect the runs that wait now.
Nothing is changed.

A run keeps the version it started with, but the deny and block rules of the served
version apply to it too. For each agent that is changed in or missing from DIR, its
waiting runs are listed with their calls.

The exit code is 1 if a waiting call would be denied, or if its agent no longer has the
tool.`,
		Example: `  dormouse agents diff
  dormouse agents diff examples/invoice-check --json`,
		Args: cmdline.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "agents"
			if len(args) == 1 {
				dir = args[0]
			}
			return a.diffAgents(cmd, dir)
		},
	}
}

// agentChanges is what agents diff prints with --json.
type agentChanges struct {
	Agents []agentChange `json:"agents"`
	// runs with a call that the change affects
	Affected int `json:"affected"`
}

// agentChange is an agent that differs between server and files. From is the served version, To the
// one in the files. One of them is empty if the agent is only on the other side.
type agentChange struct {
	Name string       `json:"name"`
	From string       `json:"from,omitempty"`
	To   string       `json:"to,omitempty"`
	Runs []waitingRun `json:"runs"`

	rules *agent.Rules // those of To
	tools []string     // its tools
}

// waitingRun is a waiting run, and what the change means for each of its calls.
type waitingRun struct {
	ID       string        `json:"id"`
	Version  string        `json:"agent_version"`
	Affected bool          `json:"affected"`
	Pending  []pendingCall `json:"pending"`
}

type pendingCall struct {
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Becomes   string          `json:"becomes"` // one of the constants below
	Detail    string          `json:"detail"`
}

// What a change means for a waiting call. Scripts rely on these values.
const (
	becomesUnchanged  = "unchanged"
	becomesDenied     = "denied"
	becomesNotOffered = "not_offered"
)

func (a *app) diffAgents(cmd *cobra.Command, dir string) error {
	loaded, err := agentfile.Load(dir)
	if err != nil {
		return cmdline.Usagef("%v", err)
	}
	c, err := a.Connect()
	if err != nil {
		return err
	}
	served, err := c.Agents(cmd.Context())
	if err != nil {
		return err
	}
	changes, err := compareAgents(served, loaded)
	if err != nil {
		return err
	}
	found := agentChanges{Agents: changes}
	for i := range changes {
		change := &changes[i]
		if change.Runs, err = change.waiting(cmd.Context(), c); err != nil {
			return err
		}
		for _, run := range change.Runs {
			if run.Affected {
				found.Affected++
			}
		}
	}
	if err := a.printChanges(found, dir); err != nil || found.Affected == 0 {
		return err
	}
	return cmdline.Fail(cmdline.ExitFailed, "runs_affected", fmt.Sprintf("serving %s would affect %s", dir, display.Counted(found.Affected, "waiting run")))
}

// compareAgents lists the agents that differ between server and files, by name.
func compareAgents(served []wire.Agent, loaded []agent.Definition) ([]agentChange, error) {
	changes := []agentChange{}
	before := map[string]string{}
	for _, s := range served {
		before[s.Name] = s.Version
	}
	for _, d := range loaded {
		from, to := before[d.Name], d.Digest()
		delete(before, d.Name)
		if from == to {
			continue
		}
		rules, err := d.Rules(nil, agent.Layers{})
		if err != nil {
			return nil, err
		}
		changes = append(changes, agentChange{Name: d.Name, From: from, To: to, rules: rules, tools: toolNames(d)})
	}
	for name, from := range before {
		changes = append(changes, agentChange{Name: name, From: from})
	}
	slices.SortFunc(changes, func(x, y agentChange) int { return cmp.Compare(x.Name, y.Name) })
	return changes, nil
}

// waiting lists the waiting runs of the agent, newest first.
func (c agentChange) waiting(ctx context.Context, server *client.Client) ([]waitingRun, error) {
	runs := []waitingRun{}
	if c.From == "" {
		return runs, nil
	}
	for list := (client.RunFilter{Status: "waiting", Agent: c.Name, Limit: 100}); ; {
		page, err := server.RunPage(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, run := range page.Items {
			runs = append(runs, c.judge(run))
		}
		if list.Cursor = page.Next; page.Next == "" {
			return runs, nil
		}
	}
}

func (c agentChange) judge(run wire.Run) waitingRun {
	w := waitingRun{ID: run.ID, Version: run.AgentVersion, Pending: []pendingCall{}}
	for _, p := range run.Pending {
		// the run itself waits, not a tool call
		if p.Kind == core.KindInterrupt.String() {
			continue
		}
		call := pendingCall{CallID: p.CallID, Tool: p.Tool, Arguments: p.Arguments}
		call.Becomes, call.Detail = c.effect(run, p)
		w.Affected = w.Affected || call.Becomes != becomesUnchanged
		w.Pending = append(w.Pending, call)
	}
	return w
}

// effect is what the change means for a waiting call. A call that takes the decision as its result
// runs nothing, so it passes no gate and needs no tool.
func (c agentChange) effect(run wire.Run, p wire.Pending) (becomes, detail string) {
	const stays = "continues with the version it started with"
	runs, offered := p.ResumeMode != core.UseDecisionAsToolResult.String(), slices.Contains(c.tools, p.Tool)
	switch {
	case c.To == "", run.AgentVersion == c.To, !runs && offered:
		return becomesUnchanged, stays
	case !runs:
		return becomesNotOffered, "the tool is no longer offered; the call " + stays
	}
	v := c.rules.Gate(core.ToolCall{ID: p.CallID, Name: p.Tool, Arguments: p.Arguments}, core.State{})
	switch {
	case v.Effect == core.Block:
		return becomesDenied, "would be blocked, and the run would end: " + v.Reason
	case v.Effect == core.Deny:
		return becomesDenied, "would be denied: " + v.Reason
	case !offered:
		return becomesNotOffered, "the tool is no longer offered; the call " + stays + ", if the program still has the tool's function"
	}
	return becomesUnchanged, stays
}

func toolNames(d agent.Definition) []string {
	var names []string
	for _, t := range d.Tools {
		names = append(names, t.Name)
	}
	return names
}

func (a *app) printChanges(found agentChanges, dir string) error {
	if a.JSON {
		return a.PrintJSON(found)
	}
	if len(found.Agents) == 0 {
		return a.Printf("no changes: the server serves the agents in %s\n", dir)
	}
	for _, change := range found.Agents {
		if err := a.printChange(change); err != nil {
			return err
		}
	}
	return a.Printf("nothing was changed\n")
}

func (a *app) printChange(c agentChange) error {
	var b strings.Builder
	switch {
	case c.From == "":
		fmt.Fprintf(&b, "%s: new\n", c.Name)
	case c.To == "":
		fmt.Fprintf(&b, "%s: removed; new runs are refused\n", c.Name)
	default:
		fmt.Fprintf(&b, "%s: %s becomes %s\n", c.Name, shortVersion(c.From), shortVersion(c.To))
	}
	if c.From != "" && len(c.Runs) == 0 {
		b.WriteString("  no waiting runs\n")
	}
	for _, run := range c.Runs {
		fmt.Fprintf(&b, "  %s, started with %s\n", run.ID, shortVersion(run.Version))
		for _, p := range run.Pending {
			fmt.Fprintf(&b, "    %s %s: %s\n", p.Tool, display.OneLine(string(p.Arguments)), display.OneLine(p.Detail))
		}
	}
	return a.Printf("%s", b.String())
}

// shortVersion is the start of a digest, enough to distinguish versions.
func shortVersion(digest string) string {
	const enough = len("sha256:") + 12
	return digest[:min(len(digest), enough)]
}
