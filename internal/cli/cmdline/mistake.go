package cmdline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/client"
)

// takenBy says what a flag takes, by the name of its type.
var takenBy = map[string]string{"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number",
	"duration": "a duration such as 500ms, 30s or 10m", "bool": "true or false"}

// wrongFlag rewords the library's errors about flags.
func wrongFlag(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if takes := takenBy[wrong.GetFlag().Value.Type()]; takes != "" {
			return Usagef("--%s takes %s, not %q", wrong.GetFlag().Name, takes, wrong.GetValue())
		}
	}
	return Usagef("%v; see: %s --help", err, cmd.CommandPath())
}

// notUnderstood is the library's error about the arguments, on one line.
func (a *App) notUnderstood(err error) *Failure {
	words, near, _ := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if commands := meant(unknownWord(a.Name(), words)); len(commands) > 0 {
		words += "; did you mean: " + strings.Join(commands, ", or ")
	} else if verbs := strings.Fields(near); len(verbs) > 0 {
		words += "; did you mean: " + strings.Join(verbs, ", ")
	}
	return Fail(ExitUsage, "usage", words+"; see: "+a.Name()+" help")
}

// nearest suggests what a word may have meant, for the end of a sentence.
func nearest(cmd *cobra.Command, words []string) string {
	if len(words) == 0 || !cmd.HasSubCommands() {
		return ""
	}
	if commands := meant(words[0]); len(commands) > 0 && !cmd.HasParent() {
		return "; did you mean: " + strings.Join(commands, ", or ")
	}
	cmd.SuggestionsMinimumDistance = 2
	near := cmd.SuggestionsFor(words[0])
	if len(near) == 0 {
		return ""
	}
	for i := range near {
		near[i] = cmd.CommandPath() + " " + near[i]
	}
	return "; did you mean: " + strings.Join(near, ", ")
}

// NamesAgents adds the existing agents to the refusal of one that doesn't exist.
func NamesAgents(ctx context.Context, c *client.Client, agent string, err error) error {
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != "agent_not_found" {
		return err
	}
	return noAgent(agent, AgentNames(ctx, c))
}

// KnownAgents refuses names of agents that are not served. If the server refuses to list agents,
// the next request reports the problem.
func KnownAgents(ctx context.Context, c *client.Client, asked []string) error {
	served, err := c.Agents(ctx)
	if _, refused := errors.AsType[*client.Error](err); err != nil && !refused {
		return err
	} else if refused {
		return nil
	}
	var names []string
	for _, agent := range served {
		names = append(names, agent.Name)
	}
	for _, name := range asked {
		if !slices.Contains(names, name) {
			return noAgent(name, names)
		}
	}
	return nil
}

func noAgent(name string, there []string) error {
	detail := fmt.Sprintf("agent %q doesn't exist", name)
	switch {
	case len(there) > manyAgents:
		detail += fmt.Sprintf("; the server has: %s, and %d more", strings.Join(there[:manyAgents], ", "), len(there)-manyAgents)
	case len(there) > 0:
		detail += "; the server has: " + strings.Join(there, ", ")
	default:
		detail += "; the server shows no agents"
	}
	return Fail(ExitUsage, "agent_not_found", detail)
}

// manyAgents is how many agents a line names at most.
const manyAgents = 12

// AgentNames are the agents that are served; none if the server doesn't answer.
func AgentNames(ctx context.Context, c *client.Client) []string {
	agents, err := c.Agents(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(agents))
	for i, agent := range agents {
		names[i] = agent.Name
	}
	return names
}
