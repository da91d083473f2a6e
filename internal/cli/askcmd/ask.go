// Package askcmd has the command that asks people on behalf of a script.
package askcmd

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// app is one invocation of the program, for the commands of this package.
type app struct{ *cmdline.App }

// Commands returns the commands of this package.
func Commands(of *cmdline.App) []*cobra.Command {
	a := &app{of}
	return []*cobra.Command{a.askCommand()}
}

// askFlags are the flags of ask.
type askFlags struct {
	args                []string
	arguments, metadata string
	approvers           []string
	group, policy       string
	notByMe             bool
	wait, noWait        bool
	deadline, key       string
	callback, secret    string
	resume              string
}

func (a *app) askCommand() *cobra.Command {
	var v askFlags
	cmd := &cobra.Command{
		Use:   "ask TITLE",
		Short: "Ask for an approval and wait for the answer",
		Long: `Ask people to approve something, and wait until it is decided. The question is in the
inbox like every approval. The exit code is 0 if it was approved and 1 if it was denied.
Without a decision, or if the command fails, it is another one; see help exit-codes.

The command keeps waiting while the server restarts or can't be reached. If it is
interrupted, the question stays open: --resume waits for it again.

An approver can edit the arguments. The command then counts as not approved, unless
--json prints the arguments for your script to use.`,
		Example: `  dormouse ask "Deploy 4.2 to production?" && ./deploy 4.2
  dormouse ask "Deploy to production?" --arg version=4.2 --approver 'token:ops-*' --not-by-me --deadline 4h
  dormouse ask "Deploy 4.2 to production?" --group release --wait
  dormouse ask "Delete the volume?" --arguments @volume.json --json
  dormouse ask "Deploy 4.2?" --no-wait --callback https://ci.example.com/hook --callback-secret CALLBACK_CI
  dormouse ask --resume run_3k7q2_0`,
		Args: func(cmd *cobra.Command, args []string) error {
			if v.resume != "" {
				return cmdline.Takes(0, 0)(cmd, args)
			}
			return cmdline.TakesText(1, 1, "the title")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if v.resume != "" {
				return a.resume(cmd.Context(), v.resume)
			}
			req, err := v.request(args[0])
			if err != nil {
				return err
			}
			return a.ask(cmd.Context(), req, v.key, v.wait && !v.noWait)
		},
	}
	v.add(cmd.Flags())
	return cmd
}

func (v *askFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&v.args, "arg", nil, "argument `NAME=TEXT` that approvers see; can be repeated")
	flags.StringVar(&v.arguments, "arguments", "", "all arguments, as a `JSON` object or @FILE")
	flags.StringArrayVar(&v.approvers, "approver", nil, "only this `CALLER` may approve, such as token:anna or role:admin; can be repeated")
	flags.StringVar(&v.group, "group", "", "one person of this `GROUP` decides; groups are defined in the server's --policy file")
	flags.StringVar(&v.policy, "approval", "", "this `POLICY` decides; defined under approvals in the server's --policy file")
	flags.BoolVar(&v.notByMe, "not-by-me", false, "your own token may not approve")
	flags.StringVar(&v.deadline, "deadline", "", "`DURATION` after which the answer is no, such as 30m, 24h or 7d")
	flags.StringVar(&v.metadata, "metadata", "", "`JSON` object stored with the ask")
	flags.StringVar(&v.key, "key", "", "idempotency `KEY`: the same key asks only once")
	flags.StringVar(&v.callback, "callback", "", "`URL` that is notified of the decision")
	flags.StringVar(&v.secret, "callback-secret", "", "`NAME` of the server's secret that signs the notice")
	flags.BoolVar(&v.wait, "wait", true, "wait for the answer; this is the default")
	flags.BoolVar(&v.noWait, "no-wait", false, "return at once; exit code 0 then means asked, not approved")
	flags.StringVar(&v.resume, "resume", "", "wait for the answer to the ask with this `ID`")
}

func (v *askFlags) request(title string) (req wire.AskRequest, err error) {
	req = wire.AskRequest{Title: title, Approvers: v.approvers, Group: v.group, Policy: v.policy, Deadline: v.deadline}
	if v.notByMe {
		req.NotBy = core.NotByStarter
	}
	if req.Metadata, err = cmdline.JsonFlag("--metadata", v.metadata); err != nil {
		return req, err
	}
	if req.Arguments, err = v.readArguments(); err != nil {
		return req, err
	}
	switch {
	case v.callback != "":
		req.Callback = &wire.AskCallback{URL: v.callback, Secret: v.secret}
	case v.secret != "":
		return req, cmdline.Usagef("--callback-secret needs --callback")
	}
	return req, nil
}

func (v *askFlags) readArguments() (json.RawMessage, error) {
	if v.arguments != "" && len(v.args) > 0 {
		return nil, cmdline.Usagef("--arg and --arguments can't be combined; remove one of them")
	}
	if len(v.args) == 0 {
		return cmdline.JsonOrFile("--arguments", v.arguments)
	}
	values := map[string]string{}
	for _, arg := range v.args {
		name, value, ok := strings.Cut(arg, "=")
		if _, twice := values[name]; !ok || name == "" || twice {
			return nil, cmdline.Usagef("--arg %s: write NAME=TEXT, each name once", arg)
		}
		values[name] = value
	}
	return core.EncodeAny(values)
}
