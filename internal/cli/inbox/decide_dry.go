package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// dryRun shows the decision and the changes without sending it. It can check edited arguments
// against the tool's parameters, and refuses them as the server would. It can't check permissions.
func (a *app) dryRun(ctx context.Context, c *client.Client, id string, d wire.Decision) error {
	if d.Arguments == nil {
		return a.printUnsent(d, "")
	}
	run, _ := c.Run(ctx, id) // without the run, nothing can be checked here
	asked := waitingIn(run, d.Target)
	if by := cmdline.AskerRun(id, asked.Pending); by != id { // whose agent has the tool
		run, _ = c.Run(ctx, by)
	}
	looked, err := argumentsFit(ctx, c, run, asked.Tool, d.Arguments)
	if err != nil {
		return cmdline.Fail(cmdline.ExitFailed, "invalid_arguments", err.Error()+"; nothing was sent")
	}
	if a.JSON {
		return a.printUnsent(d, "")
	}
	if err := a.printEdits(asked, d.Arguments); err != nil {
		return err
	}
	note := ""
	if looked {
		note = fmt.Sprintf("the arguments match the parameters of %s; the server has not checked them against permissions\n", asked.Tool)
	}
	return a.printUnsent(d, note)
}

func (a *app) printUnsent(d wire.Decision, note string) error {
	if a.JSON {
		return a.PrintJSON(d)
	}
	body, err := core.EncodeAny(d)
	if err != nil {
		return err
	}
	return a.Printf("dry run, not sent to the server: %s\n%s", display.CleanJSON(body), note)
}

// argumentsFit checks edited arguments against the parameters of the tool. looked is false if they
// are unknown: the server shows those of the newest version of the agent, and the run may use
// another version.
func argumentsFit(ctx context.Context, c *client.Client, run wire.Run, tool string, arguments json.RawMessage) (looked bool, err error) {
	if _, ok := display.Members(arguments); !ok {
		return true, fmt.Errorf("the arguments are not a JSON object with unique names")
	}
	if tool == "" {
		return false, nil
	}
	served, err := c.Agent(ctx, run.Agent)
	at := slices.IndexFunc(served.Tools, func(t wire.Tool) bool { return t.Name == tool })
	if err != nil || served.Version != run.AgentVersion || at < 0 {
		return false, nil
	}
	var schema jsonschema.Schema
	var value any
	if json.Unmarshal(served.Tools[at].Parameters, &schema) != nil || json.Unmarshal(arguments, &value) != nil {
		return false, nil
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return false, nil
	}
	if err := resolved.Validate(value); err != nil {
		return true, fmt.Errorf("the arguments don't match the parameters of %s: %s", tool, strings.TrimPrefix(err.Error(), "validating root: "))
	}
	return true, nil
}
