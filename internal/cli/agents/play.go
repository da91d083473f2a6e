package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/agents/rehearsal"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// testsDir is the directory of tests in the directory of agents.
const testsDir = "tests"

// rehearse holds the flags of agents test.
type rehearse struct {
	agents, policy string
	patience       time.Duration
	allowed        []string
	private        netguard.Private // parsed from allowed
	commands       bool
}

func (a *app) agentsTestCommand() *cobra.Command {
	var r rehearse
	cmd := &cobra.Command{
		Use:   "test [DIR|FILE...]",
		Short: "Run the tests of agents",
		Long: `Run agent tests: the YAML files in DIR/tests (DIR defaults to agents), or the given
files. Each test runs on its own server with a temporary data directory.

Tools really run. Recorded answers have no side effects, but http tools send requests
and Go functions are called. They need the same setup as with dev: secrets in the
environment, --allow-private-hosts for private services, and --allow-commands for
effects that run commands.

A test is a list of steps. It stops at the first difference, which is printed.

  agent: my-desk
  tests:
    - name: a large refund needs approval
      steps:
        - run: Refund order A-2
        - expect: {status: waiting, pending: [send_refund]}
        - decide: {approve: send_refund}
        - expect: {status: done, output: /on its way/, calls: [look_up, send_refund]}

  run        start a new thread with this user message
  say        send the next user message
  decide     approve, deny, answer or fail the call of a tool; optionally with
             arguments, grant, reason, result or error
  expect     check status, reason, code, response_state, error, output, pending, calls.
             A call has tool, arguments (as the model asked), ran (the arguments that
             the tool received), result and failed.
             Text between slashes is a regular expression.

Agents that run elsewhere (a2a) are not called. Beside agent and tests, a file has their
answers by tool; the first one whose input fits counts:

  remote:
    review: [{input: /A-2/, result: Looks good.}, {error: The reviewer is on leave.}]

The exit code is 1 if a test fails, and 2 if there are no tests or a file can't be read.`,
		Example: `  dormouse agents test
  dormouse agents test agents/tests/my-desk.yaml --json
  DORMOUSE_SECRET_ORDERS=... dormouse agents test --allow-private-hosts localhost:9000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.patience <= 0 {
				return cmdline.Usagef("--patience must be more than 0, such as 30s")
			}
			var err error
			if r.private, err = cmdline.ReadPrivate(r.allowed); err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{scaffold.Usual}
			}
			return a.playTests(cmd.Context(), r, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.agents, "agents", "", "`DIR` of the agents (default: the parent of the tests directory)")
	flags.StringVar(&r.policy, "policy", "", policyFlag)
	cmdline.PrivateFlag(cmd, &r.allowed)
	cmdline.CommandsFlag(cmd, &r.commands)
	flags.DurationVar(&r.patience, "patience", 30*time.Second, "maximum time for one step")
	return cmd
}

// playTests runs all named tests and prints the results.
func (a *app) playTests(ctx context.Context, r rehearse, names []string) error {
	scripts, err := testScripts(names)
	if err != nil {
		return err
	}
	results, failed := []rehearsal.Result{}, 0
	for _, script := range scripts {
		for _, test := range script.Tests {
			result, err := a.playTest(ctx, r, script, test)
			if err != nil {
				return err
			}
			results = append(results, result)
			if !result.OK {
				failed++
			}
			if err := a.printResult(result); err != nil {
				return err
			}
		}
	}
	if a.JSON {
		err = a.PrintJSON(map[string]any{"tests": results, "failed": failed})
	} else if failed == 0 {
		err = a.Printf("%s: OK\n", display.Counted(len(results), "test"))
	}
	if err == nil && failed > 0 {
		err = cmdline.Fail(cmdline.ExitFailed, "tests_failed", fmt.Sprintf("%d of %s failed", failed, display.Counted(len(results), "test")))
	}
	return err
}

// testScripts reads the test files. It reports all errors before any test runs.
func testScripts(names []string) ([]rehearsal.Script, error) {
	dirs, files, err := sortNames(names)
	switch {
	case err != nil:
		return nil, err
	case len(dirs) > 0 && slices.ContainsFunc(dirs, isFile):
		return nil, cmdline.Usagef("%s is not a test file; put tests in a directory named %s", dirs[slices.IndexFunc(dirs, isFile)], testsDir)
	case len(files) == 0:
		return nil, cmdline.Usagef("%s has no tests; to create an agent with tests: dormouse new NAME", filepath.Join(names[0], testsDir))
	}
	var scripts []rehearsal.Script
	var wrong []string
	for _, file := range files {
		script, problems, err := readTests(file)
		if err != nil {
			return nil, err
		}
		for _, p := range problems {
			wrong = append(wrong, p.String())
		}
		scripts = append(scripts, script)
	}
	if len(wrong) > 0 {
		return nil, cmdline.Usagef("%s", strings.Join(wrong, "\n"))
	}
	return scripts, nil
}

func isFile(name string) bool {
	stat, err := os.Stat(name)
	return err == nil && !stat.IsDir()
}

// sortNames separates test files, which are in a directory named tests, from agents. For a
// directory, it includes the test files in it.
func sortNames(names []string) (agents, tests []string, err error) {
	for _, name := range names {
		stat, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, nil, cmdline.Usagef("cannot read %s: %v; to create an agent: dormouse new NAME", name, errors.Unwrap(err))
		case stat.IsDir():
			agents = append(agents, name)
			below, err := testsBelow(name)
			if err != nil {
				return nil, nil, err
			}
			tests = append(tests, below...)
		case inTests(name):
			tests = append(tests, name)
		default:
			agents = append(agents, name)
		}
	}
	slices.Sort(tests)
	return agents, slices.Compact(tests), nil
}

// testsBelow are the files of tests of a directory of agents; it need not have any.
func testsBelow(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, testsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cmdline.Usagef("the tests cannot be read: %v", err)
	}
	var files []string
	for _, e := range entries {
		if ending := filepath.Ext(e.Name()); !e.IsDir() && (ending == ".yaml" || ending == ".yml") {
			files = append(files, filepath.Join(dir, testsDir, e.Name()))
		}
	}
	return files, nil
}

// above is the directory of the agents that a file of tests is about.
func above(file string) string { return filepath.Join(filepath.Dir(file), "..") }

func inTests(file string) bool {
	full, err := filepath.Abs(file)
	return err == nil && filepath.Base(filepath.Dir(full)) == testsDir
}

// playTest plays one test against a server of its own.
func (a *app) playTest(ctx context.Context, r rehearse, s rehearsal.Script, t rehearsal.Test) (result rehearsal.Result, err error) {
	err = withScratch(func(dir string) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		server, err := a.stage(ctx, r, s, dir)
		if err != nil {
			return err
		}
		// no proxy, and no connections that outlive the test
		web := &http.Client{Transport: &http.Transport{}}
		result, err = rehearsal.Play(ctx, client.New("http://"+server.Addr(), client.WithHTTPClient(web), client.WithRetries(0)), s, t, r.patience)
		web.CloseIdleConnections()
		stop()
		return errors.Join(err, server.Wait())
	})
	return result, err
}

// stage starts the server of a test, with its data in dir.
func (a *app) stage(ctx context.Context, r rehearse, s rehearsal.Script, dir string) (*local.Server, error) {
	o := local.Options{Addr: "127.0.0.1:0", Data: dir, Agents: r.agents, Policy: r.policy, Private: r.private, Commands: r.commands, Strict: true, Logger: quiet(), Version: a.Opts.Version}
	o.Peers = recordedPeers(s.Remote)
	if o.Agents == "" {
		o.Agents = above(s.File)
	}
	if err := a.Register(&o); err != nil {
		return nil, err
	}
	return local.Start(ctx, o)
}

func (a *app) printResult(r rehearsal.Result) error {
	if a.JSON {
		return nil
	}
	rows := [][]string{}
	for _, step := range r.Steps {
		found := step.Found
		if found == rehearsal.Holds {
			found = "OK"
		}
		rows = append(rows, []string{"  " + step.Did, found})
	}
	if err := a.Print(display.Clean(fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Name)) + "\n"); err != nil {
		return err
	}
	if err := a.Table(rows); err != nil || r.Failure == nil {
		return err
	}
	rows = nil
	for _, d := range r.Failure.Differences {
		rows = append(rows, []string{"    " + d.What, "expected", d.Expected}, []string{"", "found", d.Found})
	}
	head := display.Clean(fmt.Sprintf("  FAILED at %s:%d: %s", r.File, r.Failure.Line, r.Failure.Problem))
	if err := a.Print(strings.TrimSuffix(head, ": ") + "\n"); err != nil {
		return err
	}
	return a.Table(rows)
}
