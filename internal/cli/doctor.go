package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/examine"
)

func (a *app) doctorCommand() *cobra.Command {
	data, most, f := "", time.Duration(0), stackFlags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a data directory for damage, or a stack on AWS",
		Long: `Check the store in a data directory: the structure of the database, the state of every
run against its journal, and the chain of every journal. Print each problem and what to
do about it. Nothing is changed. You can run it while a server uses the directory.

With --stack, check a stack on AWS with your AWS credentials:

  clock         this machine's clock; AWS refuses signatures that are five minutes off
  stack         failed deployments and resources
  region        function URLs, if Streams is On
  quotas        the account's concurrency, and stopped functions
  queues        disabled event source mappings
  table         TTL, recovery, protection, capacity, indexes, runs of a newer version
  dead letters  how many there are, and since when
  alarms        in alarm, without data, deleted, or without a confirmed subscription
  versions      functions that don't run what was deployed last
  api           /healthz
  policy        the policy in force, beside the parameter Policy or --policy FILE
  models        whether BedrockModels and the account allow the models of deployed
                agents; --try-models also asks each for one token, which costs money

Each line is ok, warning, failed or not checked, and says what to do.

The exit code is 1 if there is damage, a check of a stack failed, or not everything was
checked in time or with these credentials. It is 2 if there is no store or no stack.
Warnings alone are 0.`,
		Example: `  dormouse doctor
  dormouse doctor --data /var/lib/dormouse --for 1h --json
  dormouse doctor --stack dormouse-dev --region eu-central-1
  dormouse doctor --stack dormouse --policy policy.yaml --try-models --json`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most <= 0 {
				return cmdline.Usagef("--for is %s; it must be more than 0, such as 10m", most)
			}
			if f.stack != "" && cmd.Flags().Changed("data") {
				return cmdline.Usagef("--stack and --data exclude each other; check one of them")
			}
			if f.stack != "" {
				return a.doctorStack(cmd.Context(), f, most)
			}
			for _, name := range []string{"stack", "region", "policy", "try-models"} {
				if cmd.Flags().Changed(name) {
					return cmdline.Usagef("--%s needs --stack with the name of a stack", name)
				}
			}
			return a.doctor(cmd.Context(), data, most)
		},
	}
	cmd.Flags().StringVar(&data, "data", ".dormouse", "data `DIR` of the server")
	cmd.Flags().StringVar(&f.stack, "stack", "", "check the stack `NAME` on AWS instead")
	cmd.Flags().StringVar(&f.region, "region", "", "with --stack: AWS `REGION` of the stack (default: from the environment or the AWS profile)")
	cmd.Flags().StringVar(&f.policy, "policy", "", "with --stack: policy `FILE` that should be in force (default: the parameter Policy of the stack)")
	cmd.Flags().BoolVar(&f.tryModels, "try-models", false, "with --stack: ask each model for one token")
	cmd.Flags().DurationVar(&most, "for", 10*time.Minute, "maximum time for the check")
	return cmd
}

func (a *app) doctor(ctx context.Context, data string, most time.Duration) error {
	short, stop := context.WithTimeout(ctx, most)
	defer stop()
	progress := a.Progress()
	if progress != nil {
		progress.Unit = "threads"
	}
	d, err := local.Examine(short, data, func(threads int) { progress.At(threads, 0, "") })
	progress.End()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return cmdline.Usagef("%s has no store, or an empty one; set --data to the data directory of the server", data)
	case err != nil:
		return err
	}
	if a.JSON {
		err = a.PrintJSON(d)
	} else {
		err = a.Printed(func(w io.Writer) error { return writeDiagnosis(w, data, d) })
	}
	if err == nil && d.State != local.Whole {
		err = cmdline.Fail(cmdline.ExitFailed, d.State, map[string]string{local.Damaged: data + " is damaged", local.Newer: "a newer version of the program wrote " + data,
			local.Unfinished: "time ran out before all of " + data + " was checked; allow more with --for"}[d.State])
	}
	return err
}

func writeDiagnosis(w io.Writer, data string, d local.Diagnosis) error {
	for _, f := range d.Findings {
		if _, err := fmt.Fprintf(w, "%s  %s\n", f.Code, whose(f)+f.Detail); err != nil {
			return err
		}
	}
	for i, advice := range d.Advice {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat to do:")
		}
		fmt.Fprintln(w, "- "+advice)
	}
	if len(d.Findings) == 0 {
		fmt.Fprintf(w, "OK: %s has no damage (checked %s with their journals and %s of finished runs)\n", data, display.Counted(d.Threads, "thread"), display.Counted(d.Records, "record"))
	}
	return nil
}

// whose names the run that a finding is about.
func whose(f examine.Finding) string {
	var parts []string
	for _, p := range []struct{ name, is string }{{"tenant", f.Tenant}, {"run", f.Run}, {"thread", f.Thread}} {
		if p.is != "" {
			parts = append(parts, p.name+" "+p.is)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}
