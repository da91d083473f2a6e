package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// The exit codes, a contract with scripts.
const (
	ExitOK          = 0 // it was done, or it runs or waits
	ExitFailed      = 1 // the thing itself failed
	ExitUsage       = 2 // the command, a value in it or a file it names was not understood; nothing was changed
	ExitUnreachable = 3 // no server answered
	ExitBroken      = 4 // torture: something that was acknowledged is not there, or there twice
)

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:     "exit-codes",
		Short:   "What the exit codes mean",
		Example: "  dormouse help exit-codes",
		Long: `Exit codes:
  0  done as asked; a run that still works or waits counts as that,
     and one that ended blocked or stopped
  1  it failed: the run ended in error, the decision was refused, agents check or agents test found
     something wrong, doctor damage, agents diff a waiting run that is affected, the replay a mismatch,
     enqueue --keep-going left lines out, new found a file in its way, the server answered
     with an error or could not start, or the command was interrupted
  2  wrong usage: unknown command or flag, missing argument, a value that the server does not take,
     an agent that is not there, approvals -i without a terminal, a recording to replay that is none;
     nothing was changed
  3  no server answers at the address
  4  torture found a promise broken: something that was acknowledged is not there,
     is there twice, or was done without leave

With --json the reason is on stderr as {"error":{"code":"...","detail":"..."}}; a warning is a line
{"warning":{...}} before it.`,
	}
}

// failure is why a command did not do what it was asked to.
type failure struct {
	exit   int
	code   string // stable, for programs
	detail string // one line for a person: what is wrong, and what to do
}

func (f *failure) Error() string { return f.detail }

func usagef(format string, args ...any) error {
	return &failure{exit: ExitUsage, code: "usage", detail: fmt.Sprintf(format, args...)}
}

// failure says what an error means for the exit code and for the person.
func (a *app) failure(err error) *failure {
	var known *failure
	var problem *client.Error
	var key *client.KeyError
	var aws *awscli.Problem
	var transport *url.Error // not net.Error, which the errors of files are, too
	switch {
	case errors.As(err, &known):
		return known
	case !a.started:
		return notUnderstood(err)
	case errors.Is(err, context.Canceled):
		return &failure{ExitFailed, "interrupted", "interrupted"}
	case errors.As(err, &problem):
		return a.refused(problem)
	case errors.As(err, &aws):
		return awsFailure(aws)
	case errors.As(err, &key):
		return &failure{ExitUsage, "usage", "--key " + key.Why + "; a key is letters, digits and signs of ASCII, such as ticket-4711; nothing was sent"}
	case errors.As(err, &transport), errors.Is(err, io.ErrUnexpectedEOF):
		return a.silent(transport)
	}
	return &failure{ExitFailed, "failed", err.Error()}
}

// awsFailure sorts what is wrong with AWS by who can mend it: whoever typed the command, or nobody at once.
func awsFailure(p *awscli.Problem) *failure {
	switch p.Kind {
	case "no_credentials", "no_region", "no_table":
		return &failure{ExitUsage, p.Kind, p.What}
	case "unreachable":
		return &failure{ExitUnreachable, p.Kind, p.What}
	}
	return &failure{ExitFailed, p.Kind, p.What}
}

func (f *failure) print(w io.Writer, asJSON bool) {
	if !asJSON {
		fmt.Fprintln(w, "dormouse: "+cleanLines(f.detail))
		return
	}
	printReason(w, "error", f.code, f.detail)
}

// warn tells of something that may be a mistake, and keeps nothing from being done.
func (a *app) warn(code, detail string) {
	if !a.json {
		fmt.Fprintln(a.stderr, "dormouse: warning: "+clean(detail))
		return
	}
	printReason(a.stderr, "warning", code, detail)
}

// printReason prints one line of JSON. sort is error or warning.
func printReason(w io.Writer, sort, code, detail string) {
	type reason struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	body, err := core.EncodeAny(map[string]reason{sort: {code, detail}})
	if err != nil {
		body = []byte(`{"error":{"code":"failed","detail":"the reason has no JSON form"}}`)
	}
	fmt.Fprintln(w, printable.JSON(string(body)))
}
