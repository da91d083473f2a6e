package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/proof/replay"
)

// writeReplayAgents writes the agents that a replay against a server needs.
func (a *app) writeReplayAgents(dir string, o replay.Options) error {
	written, not, err := replay.WriteAgents(dir, o)
	if err != nil {
		return err
	}
	a.warnOfUnplayed(not)
	if a.JSON {
		return a.PrintJSON(map[string]any{"dir": dir, "written": written, "not_played": append([]replay.Unplayed{}, not...)})
	}
	return a.Printf("%s written to %s; serve them with: dormouse dev --agents %s\n", display.Counted(written, "agent"), display.Clean(dir), display.Clean(dir))
}

// warnOfUnplayed names the conversations that are left out.
func (a *app) warnOfUnplayed(not []replay.Unplayed) {
	for _, u := range not {
		a.Warn("not_played", u.String())
	}
}

// replayAgainst plays the conversations against a server and shows what came out.
func (a *app) replayAgainst(ctx context.Context, to replayArgs, o replay.Options) error {
	a.URL = to.target
	c, err := a.Connect()
	if err != nil {
		return err
	}
	p := a.Progress()
	if p != nil {
		p.Unit = "conversations"
		o.Progress = func(done, total int) { p.At(done, total, "") }
	}
	target := replay.Target{Client: c, Session: strings.ToLower(rand.Text()[:10]), AtOnce: to.atOnce, Faults: to.rate}
	report, err := replay.RunAgainst(ctx, target, o)
	p.End()
	if missing, ok := errors.AsType[*replay.MissingError](err); ok {
		return cmdline.Usagef("%v", missing)
	}
	if err != nil {
		return err
	}
	if err := a.printReport(report); err != nil {
		return err
	}
	switch {
	case !report.OK():
		return cmdline.Fail(cmdline.ExitFailed, "mismatch", report.Verdict())
	case report.Conversations == 0:
		return cmdline.Fail(cmdline.ExitFailed, "not_played", fmt.Sprintf("none of the %d conversations can be said in an agent file; nothing was played",
			len(report.Unplayed)))
	}
	return nil
}
