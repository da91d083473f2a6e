package agents

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/cli/agents/rehearsal"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

func (a *app) agentsCheckCommand() *cobra.Command {
	var policy string
	var strict bool
	cmd := &cobra.Command{
		Use:   "check [DIR|FILE...]",
		Short: "Find errors in agent files",
		Long: `Check agent files and report every error with its file, line and fix. DIR defaults to
agents. The check covers the agents, the scripts and recordings they name, the tests in
DIR/tests and the --policy file. It verifies that this program has every function, hook,
memory and effect they name, and that they can call the agents they name. It needs no
server, starts nothing and changes nothing.

Notes are not errors. A note reports:
  - a secret that is not set in this environment
  - a host that needs --allow-private-hosts
  - an effect that runs a command, which needs --allow-commands
  - a permission that tests an argument of an http, lambda, mcp or agent tool whose
    schema accepts undeclared arguments (additionalProperties)
  - a policy that approves calls if no one answers
  - an agent with no limit on rounds, tokens or time
  - a limit of costs, if the agent calls one that has no price
  - what an effect with detect finds in its workspace

A server doesn't serve an agent that lacks one of the first three. With --strict, every
note is an error.

The exit code is 1 if there are errors, and 2 if there is nothing to check. The --json
output has two lists, which may be empty:

  {"problems":[{"file":..., "line":..., "problem":..., "fix":...}],
   "notes":[{"file":..., "note":...}]}`,
		Example: `  dormouse agents check
  dormouse agents check agents/my-desk.yaml
  dormouse agents check examples/invoice-check --policy policy.yaml --json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{scaffold.Usual}
			}
			found, err := a.check(args, policy, strict)
			if err != nil {
				return err
			}
			return a.printCheck(found)
		},
	}
	cmd.Flags().StringVar(&policy, "policy", "", policyFlag)
	cmd.Flags().BoolVar(&strict, "strict", false, "treat notes as errors")
	return cmd
}

const policyFlag = "YAML `FILE` of permissions that apply to all agents, as in dev --policy"

// checked is the result of agents check.
type checked struct {
	agents, tests int
	problems      []agentfile.Problem
	notes         []note
}

// demand turns the notes into problems.
func (c *checked) demand() {
	for _, n := range c.notes {
		c.problems = append(c.problems, agentfile.NewProblem(n.File, 1, n.Note))
	}
	c.notes = []note{}
}

// check reads the named files and directories. If strict is set, every note is a problem.
func (a *app) check(names []string, policyFile string, strict bool) (checked, error) {
	found := checked{problems: []agentfile.Problem{}, notes: []note{}}
	agentNames, testFiles, err := sortNames(names)
	if err != nil {
		return found, err
	}
	agents, problems, err := agentfile.Survey(agentNames...)
	if err != nil {
		return found, cmdline.Usagef("%v; to create an agent: dormouse new NAME", err)
	}
	found.problems = append(found.problems, problems...)
	policy, problems, err := readPolicy(policyFile)
	if err != nil {
		return found, err
	}
	found.problems = append(found.problems, problems...)
	if found.agents = len(agents); len(agents)+len(testFiles)+len(found.problems) == 0 {
		return found, cmdline.Usagef("%s has no agents; to create one: dormouse new NAME", names[0])
	}
	for _, file := range testFiles {
		script, problems, err := readTests(file)
		if err != nil {
			return found, err
		}
		if problems == nil {
			problems = aimless(script)
		}
		found.tests += len(script.Tests)
		found.problems = append(found.problems, problems...)
	}
	of, unpriced, err := calls(agents)
	if err != nil {
		return found, err
	}
	found.problems, found.notes = append(found.problems, of...), append(found.notes, unpriced...)
	problems, err = a.lacking(agents, policy)
	found.problems = append(found.problems, problems...)
	found.notes = append(found.notes, a.demands(agents)...)
	found.notes = append(found.notes, detections(agents)...)
	for _, d := range agents {
		for _, unjudged := range d.Unjudged(policy) {
			found.notes = append(found.notes, note{d.File, unjudged})
		}
	}
	found.notes = append(found.notes, silent(agents)...)
	found.notes = append(found.notes, unbounded(agents)...)
	if strict {
		found.demand()
	}
	byPlace(found.problems)
	return found, err
}

// silent warns of policies under which a call runs that no one has approved.
func silent(agents []agentfile.Surveyed) (notes []note) {
	for _, d := range agents {
		for _, p := range d.Silent() {
			within := time.Duration(p.Deadline.Within) * time.Millisecond
			notes = append(notes, note{d.File, fmt.Sprintf("the policy %s approves a call if no one answers within %s; to deny it instead, remove then: approve", p.Name, display.Lasting(within))})
		}
	}
	return notes
}

// unbounded warns of agents whose runs have no limit.
func unbounded(agents []agentfile.Surveyed) (notes []note) {
	for _, d := range agents {
		if d.Unbounded() {
			notes = append(notes, note{d.File, "runs have no limit: max_rounds is unlimited, and there is no token_budget or timeout, so a model that keeps calling " +
				"tools runs and costs money forever; set one of the three under stop"})
		}
	}
	return notes
}

// readPolicy reads the policy; nil without a file.
func readPolicy(file string) (*agent.Permissions, []agentfile.Problem, error) {
	if file == "" {
		return nil, nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, cmdline.Usagef("cannot read the policy: %v", err)
	}
	policy, err := agentfile.ParsePolicy(file, text)
	return &policy, agentfile.Problems(file, err), nil
}

func readTests(file string) (rehearsal.Script, []agentfile.Problem, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return rehearsal.Script{}, nil, cmdline.Usagef("cannot read the tests: %v", err)
	}
	script, problems := rehearsal.Read(file, text)
	return script, problems, nil
}

// aimless reports a file of tests whose agent doesn't exist, or that has answers of an agent
// elsewhere which no tool calls. It reports nothing if an agent file can't be read, because that
// may be the agent.
func aimless(s rehearsal.Script) (problems []agentfile.Problem) {
	agents, wrong, err := agentfile.Survey(above(s.File))
	var names []string
	var remote []agent.Tool
	for _, a := range agents {
		names = append(names, a.Name)
		remote = append(remote, slices.DeleteFunc(slices.Clone(a.Tools), func(t agent.Tool) bool { return t.Agent == nil || t.Agent.A2A == nil })...)
	}
	if err != nil || len(wrong) > 0 {
		return nil
	}
	for _, r := range s.Remote {
		if !slices.ContainsFunc(remote, func(t agent.Tool) bool { return t.Name == r.Tool }) {
			problems = append(problems, agentfile.NewProblem(s.File, r.Line, fmt.Sprintf("no agent in %s has a tool %q with a2a; correct the name, or remove its answers", above(s.File), r.Tool)))
		}
	}
	if slices.Contains(names, s.Agent) {
		return problems
	}
	instead := "create it, or move the tests"
	if len(names) > 0 {
		instead = "name one it has (" + strings.Join(names, ", ") + ")"
	}
	return append(problems, agentfile.NewProblem(s.File, s.Line, fmt.Sprintf("agent %q doesn't exist in %s; %s", s.Agent, above(s.File), instead)))
}

func (a *app) printCheck(found checked) error {
	n := len(found.problems)
	if a.JSON {
		if err := a.PrintJSON(map[string]any{"problems": found.problems, "notes": found.notes}); err != nil || n == 0 {
			return err
		}
		return wrongFiles(n)
	}
	for _, p := range found.problems {
		if err := a.Print(display.Clean(p.String()) + "\n"); err != nil {
			return err
		}
	}
	for _, n := range found.notes {
		if err := a.Print(display.Clean(n.File+": note: "+n.Note) + "\n"); err != nil {
			return err
		}
	}
	if n > 0 {
		return wrongFiles(n)
	}
	var words []string
	if found.agents > 0 {
		words = append(words, display.Counted(found.agents, "agent"))
	}
	if found.tests > 0 {
		words = append(words, display.Counted(found.tests, "test"))
	}
	return a.Printf("%s: OK\n", strings.Join(words, " and "))
}

func wrongFiles(n int) error {
	return cmdline.Fail(cmdline.ExitFailed, "problems", display.Counted(n, "problem")+" found")
}

// withScratch runs f with a temporary directory as the data directory.
func withScratch(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "dormouse-agents")
	if err != nil {
		return fmt.Errorf("making a temporary directory: %w", err)
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}
