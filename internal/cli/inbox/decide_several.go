package inbox

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// severalRenderer names this program in the journal, for calls that were shown together.
const severalRenderer = "decide/1"

// takesCalls takes a run and optionally one of its calls, or several calls of any runs.
func takesCalls(cmd *cobra.Command, args []string) error {
	if !areCalls(args) {
		return cmdline.Takes(1, 2)(cmd, args)
	}
	if len(args) > client.MostBulk {
		return cmdline.Usagef("%d calls are too many to review at once; decide up to %d together", len(args), client.MostBulk)
	}
	return nil
}

// areCalls says whether all arguments, at least two, are ids of suspensions.
func areCalls(args []string) bool {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "sus_") {
			return false
		}
	}
	return len(args) > 1
}

// decideSeveral decides calls of any runs alike. The first time it shows them, and sends nothing.
// The command that is printed then has the digest of what was shown: with it, the calls are
// decided if they are still the same.
func (a *app) decideSeveral(ctx context.Context, c *client.Client, targets []string, v decideFlags, d wire.Decision) error {
	if d.Action == "" || d.Result != nil || d.Arguments != nil || d.Grant != "" {
		return cmdline.Usagef("several calls take only --approve or --deny, with --reason, --hold and --id; decide calls that need more one by one")
	}
	calls, answered, err := readCalls(ctx, c, targets, d.Action)
	if err != nil {
		return err
	}
	if len(answered) == len(targets) { // by this command, perhaps, whose answer was lost
		return a.printAnswers(answered)
	}
	if len(answered) > 0 {
		return cmdline.Fail(cmdline.ExitFailed, "not_suspended", answered[0].Target+" is already decided in the same way, and nothing was sent; repeat the command without it")
	}
	bulk, shown := client.BulkOf(d.Action, calls...), shownTogether(calls)
	bulk.BulkID, bulk.Reason, bulk.Hold, bulk.ShownBy = d.DecisionID, d.Reason, d.Hold, severalRenderer
	switch {
	case v.dryRun && a.JSON:
		return a.PrintJSON(bulk)
	case v.dryRun:
		return a.showTogether(calls, shown)
	case v.shown == "":
		if err := a.showTogether(calls, shown); err != nil {
			return err
		}
		return cmdline.Fail(cmdline.ExitFailed, "review_required", "nothing was sent; review the calls, then repeat the command with --shown "+shown)
	case v.shown != shown:
		return cmdline.Fail(cmdline.ExitFailed, "changed", "the calls differ from those that were shown, and nothing was sent; review them again without --shown")
	}
	answers, err := c.DecideBulk(ctx, bulk)
	if err != nil {
		return err
	}
	return a.printAnswers(answers)
}

// readCalls reads the calls. It fails at one that no longer waits, which would be missing in what
// is shown, unless it was answered with the action.
func readCalls(ctx context.Context, c *client.Client, targets []string, action string) (waiting []wire.Approval, answered []wire.DecisionAnswer, err error) {
	for _, target := range targets {
		found, err := c.Suspension(ctx, target)
		if err != nil {
			return nil, nil, err
		}
		became := found.Outcome
		switch {
		case found.Approval != nil:
			waiting = append(waiting, *found.Approval)
		case became.State == query.OutcomeAnswered && became.Decision != nil && became.Decision.Action == action:
			answered = append(answered, wire.DecisionAnswer{Status: http.StatusOK, Code: "already_decided", Target: target,
				DecisionID: became.Decision.DecisionID, AppliesAt: became.AppliesAt})
		default:
			return nil, nil, cmdline.Fail(cmdline.ExitFailed, "not_suspended", target+" no longer waits, and nothing was sent; repeat the command without it")
		}
	}
	return waiting, answered, nil
}

// shownTogether is the digest of calls as they are shown.
func shownTogether(calls []wire.Approval) string {
	var all []string
	for _, call := range calls {
		all = append(all, call.Fingerprint)
	}
	return core.Digest([]byte(strings.Join(all, "\n")))
}

// showTogether shows every value of the calls.
func (a *app) showTogether(calls []wire.Approval, shown string) error {
	if a.JSON {
		return a.PrintJSON(struct {
			Items []wire.Approval `json:"items"`
			Shown string          `json:"shown"`
		}{calls, shown})
	}
	for _, call := range calls {
		rows := [][]string{{"call", call.Suspension.ID}, {"run", call.RunID}, {"agent", display.Spelled(call.Agent)}, {"since", display.Clock(call.Since)}}
		facts := a.PendingRows(call.RunID, call.Agent, call.Pending)
		// the last rows are the commands that answer it alone
		rows = append(rows, facts[:len(facts)-len(a.Answers(call.RunID, call.Pending))]...)
		if err := a.Table(rows); err != nil {
			return err
		}
		if err := a.Print("\n"); err != nil {
			return err
		}
	}
	return nil
}

// printAnswers prints a line for each answer. One that was refused is a failure.
func (a *app) printAnswers(answers []wire.DecisionAnswer) error {
	refused := 0
	for _, answer := range answers {
		if answer.Status >= http.StatusBadRequest {
			refused++
		}
	}
	var failed error
	if refused > 0 {
		were := "were"
		if refused == 1 {
			were = "was"
		}
		failed = cmdline.Fail(cmdline.ExitFailed, "decisions_refused", fmt.Sprintf("%d of %s %s refused", refused, display.Counted(len(answers), "decision"), were))
	}
	if a.JSON {
		if err := a.PrintJSON(client.DecisionAnswers{Answers: answers}); err != nil {
			return err
		}
		return failed
	}
	for _, answer := range answers {
		line := "accepted: " + answer.Target
		switch {
		case answer.Status >= http.StatusBadRequest:
			line = "refused: " + answer.Target + ": " + cmdline.Refusal(answer.Code, answer.Detail, answer.Winner)
		case answer.Code == "already_decided":
			line = "already decided in the same way: " + answer.Target
		}
		if answer.AppliesAt != nil {
			line += ", takes effect " + display.Clock(*answer.AppliesAt) + "; " + a.Command("withdraw "+scaffold.ShellWord(answer.Target)+" "+scaffold.ShellWord(answer.DecisionID))
		}
		if err := a.Print(line + "\n"); err != nil {
			return err
		}
	}
	return failed
}
