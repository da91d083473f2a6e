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
	data, most := "", time.Duration(0)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a data directory for damage",
		Long: `Check the store in a data directory: the structure of the database, the state of every
run against its journal, and the chain of every journal. Print each problem and what to
do about it. Nothing is changed. You can run it while a server uses the directory.

The exit code is 1 if there is damage or the check didn't finish in time, and 2 if there
is no store.`,
		Example: `  dormouse doctor
  dormouse doctor --data /var/lib/dormouse --for 1h --json`,
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most <= 0 {
				return cmdline.Usagef("--for is %s; it must be more than 0, such as 10m", most)
			}
			return a.doctor(cmd.Context(), data, most)
		},
	}
	cmd.Flags().StringVar(&data, "data", ".dormouse", "data `DIR` of the server")
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
