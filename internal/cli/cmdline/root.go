package cmdline

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// New is one invocation of a program. Results go to stdout, and errors, as one line or as one JSON
// value, to stderr.
func New(stdin io.Reader, stdout, stderr io.Writer, opts Options) *App {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &App{Opts: opts, Stdin: stdin, Stdout: stdout, Stderr: stderr}
}

// Root returns the root command with the flags that every command accepts and the commands help
// and version. codes is the text of the help topic exit-codes.
func (a *App) Root(short, long string, codes []ExitCode) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           a.Name(),
		Short:         short,
		Long:          long,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.Started = true
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.printVersion()
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version and exit")
	flags := root.PersistentFlags()
	a.Flags = flags
	flags.BoolVar(&a.JSON, "json", false, "print JSON: one value, or one value per line for watch")
	flags.StringVar(&a.URL, "url", "", "`URL` of the server (default $DORMOUSE_URL or "+defaultURL+")")
	flags.StringVar(&a.TokenFile, "token-file", "", "`FILE` with the access token (default: the token in $DORMOUSE_TOKEN)")
	flags.BoolVar(&a.AWSIAM, "aws-iam", false, "sign requests with AWS credentials, for a stack with IAM authentication; excludes a token (default: on if $DORMOUSE_AWS_IAM=1)")
	root.AddCommand(a.versionCommand(), exitCodesTopic(codes))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpCommand(a.helpCommand(root))
	return root
}

// Execute runs the command that args name (without the program's name) until it is finished or ctx
// ends, and returns the exit code: one of [ExitOK], [ExitFailed], [ExitUsage], [ExitUnreachable],
// [ExitBroken].
func (a *App) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Example = a.helpExamples(root)
	}
	a.useName(root)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)

	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	f := a.Failure(err)
	a.printFailure(f, a.JSON || slices.Contains(args, "--json"))
	return f.Exit
}

// helpCommand is cobra's own, except that an unknown topic is a usage error.
func (a *App) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show help for a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return Usagef("unknown help topic %q%s; see: dormouse help", strings.Join(args, " "), nearest(root, args))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// helpExamples ask for a command of this program, and for a subcommand if it has any.
func (a *App) helpExamples(root *cobra.Command) string {
	one, two := "", ""
	for _, cmd := range root.Commands() {
		switch below := cmd.Commands(); {
		case len(below) > 0 && two == "":
			two = "\n  " + a.Name() + " help " + cmd.Name() + " " + below[0].Name()
		case len(below) == 0 && one == "":
			one = "  " + a.Name() + " help " + cmd.Name()
		}
	}
	return one + two
}

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print the version. dormouse --version and dormouse -v print the same.",
		Example: `  dormouse version
  dormouse -v`,
		Args: Takes(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *App) printVersion() error {
	if a.JSON {
		return a.PrintJSON(map[string]string{"version": a.Opts.Version})
	}
	return a.Printf("%s %s\n", a.Name(), a.Opts.Version)
}
