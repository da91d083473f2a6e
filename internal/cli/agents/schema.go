package agents

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/schema"
	"github.com/dormouse-dev/dormouse/internal/cli/agents/rehearsal"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// schemaTest is the kind of test files. Package schema has the other kinds.
const schemaTest = "test"

func (a *app) agentsSchemaCommand() *cobra.Command {
	kinds := append(schema.Kinds(), schemaTest)
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of a file format",
		Long: `Print the JSON Schema (draft-07) of a file format. KIND is agent (the default), hook,
policy, script or test.

Editors with a YAML language server use the schema for completion, documentation and
error marks if the file starts with a line like this one. The path is relative to the
file:

  # yaml-language-server: $schema=schemas/agent.json

A schema can't express every rule. To find all errors, use agents check.`,
		Example: `  dormouse agents schema > agents/schemas/agent.json
  dormouse agents schema test > agents/schemas/test.json`,
		Args:      cmdline.Takes(0, 1),
		ValidArgs: kinds,
		RunE: func(_ *cobra.Command, args []string) error {
			kind := schema.Agent
			if len(args) == 1 {
				kind = args[0]
			}
			if !slices.Contains(kinds, kind) {
				return cmdline.Usagef("unknown schema %q; use one of: %s", kind, strings.Join(kinds, ", "))
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
	return schema.Of(kind)
}
