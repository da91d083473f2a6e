package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// explainAll lets every verb below tell what a server refuses in the words of who typed it: with
// the id that was named and the verb's flags.
func (a *app) explainAll(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		a.explainAll(below)
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.explained(cmd, args, run(cmd, args)) }
	}
}

// explained adds to a refusal what the verb knows better than the server. Every other error stays
// as it is.
func (a *app) explained(cmd *cobra.Command, args []string, err error) error {
	problem, isRefusal := errors.AsType[*client.Error](err)
	if _, worded := errors.AsType[*cmdline.Failure](err); !isRefusal || worded || errors.Is(err, context.Canceled) {
		return err
	}
	f := a.Refused(problem)
	id := runNamed(cmd, args)
	switch {
	case id != "" && (problem.Code == "run_not_found" || problem.Code == "thread_not_found"):
		f.Detail = a.notThere(cmd.Context(), id, takesThread(cmd))
	case problem.Code == "run_open" && cmd.Name() == "retry":
		f.Detail = a.stillOpen(cmd.Context(), id, f.Detail)
	case problem.Status == http.StatusNotFound && problem.Code == "not_found":
		f.Detail += besidesPath(a.Address())
	}
	f.Detail += flagsNamed(cmd, problem.Detail)
	return f
}

// runNamed is the run or the thread that a verb was given; "" if it takes none.
func runNamed(cmd *cobra.Command, args []string) string {
	form := strings.Fields(cmd.Use)
	if len(form) < 2 || len(args) == 0 || form[1] != "RUN" && form[1] != "[RUN]" && form[1] != "THREAD" {
		return ""
	}
	return args[0]
}

func takesThread(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "THREAD") }

// notThere says of an id that the server does not know what it may be instead, and how to find the
// right one.
func (a *app) notThere(ctx context.Context, id string, takesThread bool) string {
	shown := display.Brief(id)
	if thread := threadBehind(id); thread != "" && !takesThread {
		if runs := a.runsOf(ctx, thread); len(runs) > 0 {
			what := "is a thread, and this takes one of its runs"
			if thread != id {
				what = "is not the whole id of a run; those of its thread are"
			}
			return fmt.Sprintf("%s %s: %s", shown, what, display.Listed(runs))
		}
	}
	switch {
	case takesThread:
		return fmt.Sprintf("there is no thread and no run %q; %s lists the runs, and any run of a thread may stand for it", shown, a.Command("runs"))
	case !strings.HasPrefix(id, "run_"):
		return fmt.Sprintf("%q is no id of a run (run_...); to list them: %s", shown, a.Command("runs"))
	}
	return fmt.Sprintf("there is no run %q; to list those that are there: %s", shown, a.Command("runs"))
}

// withoutNumber is the id of a run that lacks what tells it from the others of its thread.
var withoutNumber = regexp.MustCompile(`^run_([a-z0-9]+)_?$`)

// threadBehind is the thread that was named where a run was asked for; "" if it was something else.
func threadBehind(id string) string {
	if found := withoutNumber.FindStringSubmatch(id); found != nil {
		return "thr_" + found[1]
	}
	if strings.HasPrefix(id, "thr_") {
		return id
	}
	return ""
}

// runsOf are the newest runs of a thread, if the server tells them at once: they only stand in a
// hint.
func (a *app) runsOf(ctx context.Context, thread string) (ids []string) {
	c, err := a.Connect()
	if err != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, completionTime)
	defer stop()
	page, err := c.ThreadRunPage(ctx, thread, client.RunFilter{Limit: 5})
	if err != nil {
		return nil
	}
	for _, run := range page.Items {
		ids = append(ids, run.ID)
	}
	return ids
}

// stillOpen says what to do about a run that cannot be retried since it is not done.
func (a *app) stillOpen(ctx context.Context, id, otherwise string) string {
	c, err := a.Connect()
	if err != nil {
		return otherwise
	}
	run, err := c.Run(ctx, id)
	switch {
	case err != nil || run.Status == "done":
		return otherwise
	case len(run.Pending) > 0 && run.Pending[0].Kind == "interrupt":
		return fmt.Sprintf("%s is not done, it is paused; it goes on with: %s", id, a.Command("resume "+id))
	case run.Status == "waiting":
		return fmt.Sprintf("%s is not done, it waits for a decision; %s lists what waits", id, a.Command("approvals"))
	}
	return fmt.Sprintf("%s is not done, it works; to see what it does: %s", id, a.Command("watch "+id))
}

// besidesPath doubts the path of an address at which nothing was found.
func besidesPath(addr string) string {
	u, err := url.Parse(addr)
	if err != nil || strings.Trim(u.Path, "/") == "" {
		return ""
	}
	path := u.Path
	u.Path, u.RawPath = "", ""
	return fmt.Sprintf("; is the %s in the address right? A server without a proxy before it is at %s", path, cmdline.ShownAddress(u.String()))
}

// memberFlags are members of the API that are flags here, by another name.
var memberFlags = []struct{ member, flag, says string }{
	{"decision_id", "id", "decision_id is the flag --id"},
	{"on_pending", "on-pending", "on_pending is the flag --on-pending: abandon or queue"},
	{"idempotency key", "key", "the idempotency key is the flag --key"},
}

func flagsNamed(cmd *cobra.Command, detail string) (words string) {
	for _, m := range memberFlags {
		if strings.Contains(detail, m.member) && cmd.Flags().Lookup(m.flag) != nil {
			words += "; " + m.says
		}
	}
	return words
}
