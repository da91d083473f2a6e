package agents

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/cli/agents/rehearsal"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// schemaTest is the kind of the files that agents test plays, beside those of package agent.
const schemaTest = "test"

func (a *app) agentsSchemaCommand() *cobra.Command {
	kinds := append(agentfile.Schemas(), schemaTest)
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of a kind of file",
		Long: `Print the JSON Schema (draft-07) of a kind of file: agent (without KIND, too), policy, script or test. An editor with a YAML language
server completes, explains and underlines by it if the file begins with a line such as

  # yaml-language-server: $schema=schemas/agent.json

where the name is relative to the file. What the schema takes may still be wrong: agents check says all of it.`,
		Example: `  dormouse agents schema > agents/schemas/agent.json
  dormouse agents schema test > agents/schemas/test.json`,
		Args:      cmdline.Takes(0, 1),
		ValidArgs: kinds,
		RunE: func(_ *cobra.Command, args []string) error {
			kind := agentfile.SchemaAgent
			if len(args) == 1 {
				kind = args[0]
			}
			if !slices.Contains(kinds, kind) {
				return cmdline.Usagef("there is no schema of %q; it is one of %s", kind, strings.Join(kinds, ", "))
			}
			text, err := schemaOf(kind)
			if err != nil {
				return err
			}
			return a.Print(string(text))
		},
	}
}

func schemaOf(kind string) ([]byte, error) {
	if kind == schemaTest {
		return rehearsal.Schema(), nil
	}
	return agentfile.Schema(kind)
}
