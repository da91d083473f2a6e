// Package cli is the command line: the verbs of a person, turned into requests to the HTTP API, and
// those that work without a server, such as dev, serve and replay. It reads arguments, prints
// answers and chooses the exit code. It holds no rules of its own: what may be started, decided or
// cancelled is the server's to say.
package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Options are what the program around the command line gives to it.
type Options struct {
	// Version is what the version command prints.
	Version string

	// Register adds the Go functions that agents may name, before dev serves; data is its data directory. Nil adds none.
	Register func(r *tool.Registry, data string) error

	// RegisterHooks adds the hooks, memories and effects that agents may name, likewise. The memory "notes" is there already.
	RegisterHooks func(r *hook.Registry, data string) error

	// Control is the program's control of the runs that dev works on; nil has none.
	Control func(data string) (engine.Controls, error)

	// Getenv reads the environment; nil is [os.Getenv].
	Getenv func(string) string

	// Now is the clock that ages and what is left of a deadline are told by; nil is [time.Now].
	Now func() time.Time
}

// Main runs the command that args name (without the program's name) until it is finished or ctx ends, and returns
// the exit code: one of [ExitOK], [ExitFailed], [ExitUsage], [ExitUnreachable], [ExitBroken]. Answers go to stdout, and what went wrong,
// as one line or as one JSON value, to stderr.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, opts Options) int {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	a := &app{opts: opts, stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)

	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	f := a.failure(err)
	f.print(stderr, a.json || slices.Contains(args, "--json"))
	return f.exit
}

// app is one invocation of the program.
type app struct {
	opts           Options
	stdin          io.Reader
	stdout, stderr io.Writer

	started   bool // the arguments were understood
	json      bool
	url       string
	tokenFile string
	awsIAM    bool
	flags     *pflag.FlagSet // those that every verb has; which were given
	signedFor string         // the region that signatures are for, once there are any
}

func (a *app) now() time.Time { return a.opts.Now() }

func (a *app) root() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "dormouse",
		Short: "Run agents that sleep while they wait",
		Long: `Dormouse runs agents one step at a time. A run that needs a person is written down
and nothing stays in memory; the decision wakes it where it was.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.started = true
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.printVersion()
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version of this program")
	flags := root.PersistentFlags()
	a.flags = flags
	flags.BoolVar(&a.json, "json", false, "print JSON: one value, or one a line for watch")
	flags.StringVar(&a.url, "url", "", "address of the server (default $DORMOUSE_URL or "+defaultURL+")")
	flags.StringVar(&a.tokenFile, "token-file", "", "file that holds the access token (default: $DORMOUSE_TOKEN is the token)")
	flags.BoolVar(&a.awsIAM, "aws-iam", false, "sign requests with AWS credentials, for a stack that lets callers in by IAM; not with a token (default $DORMOUSE_AWS_IAM=1)")
	root.AddCommand(
		a.devCommand(), a.serveCommand(), a.runCommand(), a.runsCommand(), a.approvalsCommand(), a.decideCommand(), a.decisionsCommand(), a.messagesCommand(), a.watchCommand(),
		a.interruptCommand(), a.resumeCommand(), a.retryCommand(),
		a.newCommand(), a.agentsCommand(), a.toolsCommand(), a.replayCommand(), a.tortureCommand(), a.enqueueCommand(), a.tokensCommand(), a.doctorCommand(), a.versionCommand(), exitCodesTopic(),
	)
	root.AddCommand(completionCommand(root))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(wrongFlag)
	a.completeAll(root)
	root.SetHelpCommand(helpCommand(root))
	a.explainAll(root)
	return root
}

// helpCommand is cobra's own, except that help for something that is not there is wrong usage.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "Show what a verb does, its flags and examples",
		Example: `  dormouse help approvals
  dormouse help runs cancel`,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no help for %q%s; see: dormouse help", strings.Join(args, " "), nearest(root, args))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long:  "Print the version of this program, as dormouse --version and dormouse -v do.",
		Example: `  dormouse version
  dormouse -v`,
		Args: takes(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	if a.json {
		return a.printJSON(map[string]string{"version": a.opts.Version})
	}
	return a.printf("dormouse %s\n", a.opts.Version)
}
