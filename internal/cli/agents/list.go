package agents

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func (a *app) agentsListCommand() *cobra.Command {
	var f deployFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List agents and their versions",
		Long: `List the agents of a server and the versions that new runs use. With --table, list the
agents deployed to an AWS stack; they are read from its table with your AWS credentials.`,
		Example: `  dormouse agents list
  dormouse agents list --table dormouse-prod --tenant acme --json`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			listed, err := a.listedAgents(cmd, f)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]any{"items": listed})
			}
			rows := [][]string{{"AGENT", "VERSION", "DESCRIPTION"}}
			for _, l := range listed {
				rows = append(rows, []string{l.Name, l.Version, l.shown()})
			}
			return a.List(rows, 2)
		},
	}
	f.where(cmd)
	return cmd
}

// listedAgent is an agent that runs can be started of.
type listedAgent struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	Unavailable string `json:"unavailable,omitempty"` // why it can't be started now
}

func (l listedAgent) shown() string {
	if l.Unavailable != "" {
		return "unavailable: " + l.Unavailable
	}
	return l.Description
}

func (a *app) listedAgents(cmd *cobra.Command, f deployFlags) ([]listedAgent, error) {
	if f.table != "" {
		return storedAgents(cmd.Context(), f)
	}
	for _, name := range []string{"table", "tenant", "region"} {
		if cmd.Flags().Changed(name) {
			return nil, cmdline.Usagef("--%s needs --table", name)
		}
	}
	c, err := a.Connect()
	if err != nil {
		return nil, err
	}
	served, err := c.Agents(cmd.Context())
	listed := []listedAgent{}
	for _, s := range served {
		listed = append(listed, listedAgent{s.Name, s.Version, s.Description, s.Unavailable})
	}
	return listed, err
}

func storedAgents(ctx context.Context, f deployFlags) ([]listedAgent, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	table, err := awscli.OpenTable(ctx, f.table, f.region)
	if err != nil {
		return nil, err
	}
	deployed, err := table.Deployed(ctx, f.tenant)
	if err != nil {
		return nil, stopped(ctx, table.Explain(err, "read agents"))
	}
	listed := []listedAgent{}
	for _, stored := range deployed {
		d, err := agent.Decode(stored.Body)
		// a newer program wrote it; its name and version are still known
		if err != nil {
			d.Description = "(written by a newer version of this program)"
		}
		listed = append(listed, listedAgent{Name: stored.Name, Version: stored.Digest, Description: d.Description})
	}
	return listed, nil
}
