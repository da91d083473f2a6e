package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// The exit codes, a contract with scripts.
const (
	ExitOK     = 0 // success, or the run is running or waiting
	ExitFailed = 1 // the operation failed
	// the command, a value in it or a file it names is invalid; nothing was changed
	ExitUsage       = 2
	ExitUnreachable = 3 // no server answered
	ExitUnanswered  = 5 // ask: there is no answer, or none that counts
	ExitBroken      = 4 // torture found a lost, duplicated or unapproved action
)

// Failure is why a command failed.
type Failure struct {
	Exit   int
	Code   string // stable, for programs
	Detail string // for a person: what happened, and what to do
}

func (f *Failure) Error() string { return f.Detail }

// Fail is a failure with this exit code, stable code and detail.
func Fail(exit int, code, detail string) *Failure { return &Failure{exit, code, detail} }

// Usagef is a failure because the command, a value in it or a file it names is invalid.
func Usagef(format string, args ...any) error {
	return &Failure{Exit: ExitUsage, Code: "usage", Detail: fmt.Sprintf(format, args...)}
}

// Failure turns an error into an exit code and a message.
func (a *App) Failure(err error) *Failure {
	var known *Failure
	var problem *client.Error
	var key *client.KeyError
	var aws *awscli.Problem
	var transport *url.Error // not net.Error, which the errors of files are, too
	switch {
	case errors.As(err, &known):
		return known
	case !a.Started:
		return a.notUnderstood(err)
	case errors.Is(err, context.Canceled):
		return Fail(ExitFailed, "interrupted", "interrupted")
	case errors.As(err, &problem):
		return a.Refused(problem)
	case errors.As(err, &aws):
		return awsFailure(aws)
	case errors.As(err, &key):
		return Fail(ExitUsage, "usage", "--key "+key.Why+"; use printable ASCII characters, such as ticket-4711; nothing was sent")
	case errors.As(err, &transport), errors.Is(err, io.ErrUnexpectedEOF):
		return a.silent(transport)
	}
	return Fail(ExitFailed, "failed", err.Error())
}

// awsFailure chooses the exit code of a problem with AWS: a usage error if the caller can fix it
// with another setting.
func awsFailure(p *awscli.Problem) *Failure {
	switch p.Kind {
	case "no_credentials", "no_region", "no_table":
		return Fail(ExitUsage, p.Kind, p.What)
	case "unreachable":
		return Fail(ExitUnreachable, p.Kind, p.What)
	}
	return Fail(ExitFailed, p.Kind, p.What)
}

func (a *App) printFailure(f *Failure, asJSON bool) {
	detail := a.named(f.Detail, a.Typed())
	if !asJSON {
		fmt.Fprintln(a.Stderr, a.Name()+": "+display.CleanLines(detail))
		return
	}
	printReason(a.Stderr, "error", f.Code, detail)
}

// Warn reports a possible mistake. The command continues.
func (a *App) Warn(code, detail string) {
	detail = a.named(detail, a.Typed())
	if !a.JSON {
		fmt.Fprintln(a.Stderr, a.Name()+": warning: "+display.Clean(detail))
		return
	}
	printReason(a.Stderr, "warning", code, detail)
}

// printReason prints one line of JSON. sort is error or warning.
func printReason(w io.Writer, sort, code, detail string) {
	type reason struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	body, err := core.EncodeAny(map[string]reason{sort: {code, detail}})
	if err != nil {
		body = []byte(`{"error":{"code":"failed","detail":"the reason cannot be written as JSON"}}`)
	}
	fmt.Fprintln(w, printable.JSON(string(body)))
}
