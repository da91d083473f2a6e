package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/awsstack"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

// stackFlags are the flags of doctor that are about a stack.
type stackFlags struct {
	stack, region, policy string
	tryModels             bool
}

func (a *app) doctorStack(ctx context.Context, f stackFlags, most time.Duration) error {
	o := stackdoctor.Options{Stack: f.stack, URL: a.URL, TryModels: f.tryModels, Schema: awsstack.Schema()}
	if f.policy != "" {
		text, err := os.ReadFile(f.policy)
		if err != nil {
			return cmdline.Usagef("cannot read the policy: %v", err)
		}
		p, err := stackdoctor.ReadPolicy(f.policy, string(text))
		if err != nil {
			return cmdline.Usagef("%v", err)
		}
		o.Policy = &p
	}
	short, stop := context.WithTimeout(ctx, most)
	defer stop()
	var report stackdoctor.Report
	sources, region, err := awsstack.Open(short, f.region, a.Opts.Now)
	if err == nil {
		o.Region, o.Now = region, a.Opts.Now()
		report, err = stackdoctor.Examine(short, sources, o)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return cmdline.Fail(cmdline.ExitFailed, stackdoctor.Unfinished, "time ran out before the stack was checked; allow more with --for")
	case errors.Is(err, stackdoctor.ErrMissing):
		return cmdline.Fail(cmdline.ExitUsage, "no_stack", fmt.Sprintf("there is no stack %q in %s; set --stack to its name in CloudFormation and --region to its region", f.stack, region))
	case err != nil:
		return unread(err)
	}
	if a.JSON {
		err = a.PrintJSON(report)
	} else {
		err = a.Printed(func(w io.Writer) error { return writeReport(w, report) })
	}
	if err != nil {
		return err
	}
	switch report.State {
	case stackdoctor.Failed:
		return cmdline.Fail(cmdline.ExitFailed, report.State, "the stack "+f.stack+" needs attention: "+counts(report))
	case stackdoctor.Unfinished:
		return cmdline.Fail(cmdline.ExitFailed, report.State, "not everything was checked: "+counts(report))
	}
	return nil
}

// unread is an error of AWS. Others than an [awscli.Problem] may wrap one of the network, which
// must not be taken for one of a Dormouse server.
func unread(err error) error {
	if problem, is := errors.AsType[*awscli.Problem](err); is {
		return problem
	}
	return cmdline.Fail(cmdline.ExitFailed, "failed", "the stack can't be read: "+display.Clean(err.Error()))
}

// writeReport cleans each text by itself, because AWS and the API's answers may have line breaks.
func writeReport(w io.Writer, r stackdoctor.Report) error {
	for _, f := range r.Findings {
		status := f.Status
		if status == stackdoctor.Unchecked {
			status = "not checked" // the detail says why
		}
		line := fmt.Sprintf("%-12s %-13s %s\n", status, f.Check, display.Clean(f.Detail))
		if f.Do != "" {
			line += strings.Repeat(" ", 13) + "-> " + display.Clean(f.Do) + "\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s in %s: %s\n", display.Clean(r.Stack), display.Clean(r.Region), counts(r))
	return err
}

// counts says how many findings have each status.
func counts(r stackdoctor.Report) string {
	var parts []string
	for _, s := range []struct{ status, words string }{{stackdoctor.Failed, "failed"}, {stackdoctor.Unchecked, "not checked"}, {stackdoctor.Warning, "warnings"}, {stackdoctor.OK, "ok"}} {
		n := 0
		for _, f := range r.Findings {
			if f.Status == s.status {
				n++
			}
		}
		if n == 1 {
			s.words = strings.TrimSuffix(s.words, "s")
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	return strings.Join(parts, ", ")
}
