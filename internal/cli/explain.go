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

// explainAll makes every command explain a refusal of the server in terms of its own arguments and
// flags.
func (a *app) explainAll(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		a.explainAll(below)
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.explained(cmd, args, run(cmd, args)) }
	}
}

// explained adds to a refusal what the command knows and the server doesn't. It returns every other
// error unchanged.
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
	f.Detail += flagsNamed(cmd, f.Detail)
	return f
}

// runNamed is the run or thread among the arguments; "" if the command takes none.
func runNamed(cmd *cobra.Command, args []string) string {
	form := strings.Fields(cmd.Use)
	if len(form) < 2 || len(args) == 0 {
		return ""
	}
	if first := strings.Trim(form[1], "[]{}"); first != "RUN" && first != "THREAD" {
		return ""
	}
	return args[0]
}

func takesThread(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "THREAD") }

// notThere says what an unknown id may be instead, and how to find the right one.
func (a *app) notThere(ctx context.Context, id string, takesThread bool) string {
	shown := display.Brief(id)
	if thread := threadBehind(id); thread != "" && !takesThread {
		if runs := a.runsOf(ctx, thread); len(runs) > 0 {
			what := "is a thread; use one of its runs"
			if thread != id {
				what = "is not a complete run id; the runs of its thread are"
			}
			return fmt.Sprintf("%s %s: %s", shown, what, display.Listed(runs))
		}
	}
	switch {
	case takesThread:
		return fmt.Sprintf("thread or run %q doesn't exist; list the runs with %s (any run of a thread identifies it)", shown, a.Command("runs"))
	case !strings.HasPrefix(id, "run_"):
		return fmt.Sprintf("%q is not a run id (run_...); to list runs: %s", shown, a.Command("runs"))
	}
	return fmt.Sprintf("run %q doesn't exist; to list runs: %s", shown, a.Command("runs"))
}

// withoutNumber is a run id without the number that distinguishes it from others of its thread.
var withoutNumber = regexp.MustCompile(`^run_([a-z0-9]+)_?$`)

// threadBehind is the thread of an incomplete run id, or a thread id itself; "" for other ids.
func threadBehind(id string) string {
	if found := withoutNumber.FindStringSubmatch(id); found != nil {
		return "thr_" + found[1]
	}
	if strings.HasPrefix(id, "thr_") {
		return id
	}
	return ""
}

// runsOf are the newest runs of a thread. Its time is short, because they are only used in a hint.
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

// stillOpen says what to do about a run that can't be retried because it is not done.
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
		return fmt.Sprintf("%s is paused, not done; to continue it: %s", id, a.Command("resume "+id))
	case run.Status == "waiting":
		return fmt.Sprintf("%s is not done: it waits for a decision; list waiting calls with: %s", id, a.Command("approvals"))
	}
	return fmt.Sprintf("%s is still running; to see what it does: %s", id, a.Command("watch "+id))
}

// besidesPath questions the path in the server URL after a 404.
func besidesPath(addr string) string {
	u, err := url.Parse(addr)
	if err != nil || strings.Trim(u.Path, "/") == "" {
		return ""
	}
	path := u.Path
	u.Path, u.RawPath = "", ""
	return fmt.Sprintf("; check the path %s in the server URL. A server without a proxy is at %s", path, cmdline.ShownAddress(u.String()))
}

// memberFlags are members of the API whose flags have another name.
var memberFlags = []struct{ member, flag, says string }{
	{"decision_id", "id", "set decision_id with --id"},
	{"on_pending", "on-pending", "set on_pending with --on-pending: abandon or queue"},
	{"idempotency key", "key", "set the idempotency key with --key"},
}

// flagsNamed names the flags of members in detail, unless it does so already.
func flagsNamed(cmd *cobra.Command, detail string) (words string) {
	for _, m := range memberFlags {
		if strings.Contains(detail, m.member) && !strings.Contains(detail, " --"+m.flag) && cmd.Flags().Lookup(m.flag) != nil {
			words += "; " + m.says
		}
	}
	return words
}
