package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/proof/replay"
)

// writeReplayAgents writes the agents that a replay against a server needs.
func (a *app) writeReplayAgents(dir string, o replay.Options) error {
	written, not, err := replay.WriteAgents(dir, o)
	if err != nil {
		return err
	}
	a.warnOfUnplayed(not)
	if a.json {
		return a.printJSON(map[string]any{"dir": dir, "written": written, "not_played": append([]replay.Unplayed{}, not...)})
	}
	return a.printf("%s written to %s; serve them with: dormouse dev --agents %s\n", counted(written, "agent"), clean(dir), clean(dir))
}

// warnOfUnplayed names the conversations that are left out.
func (a *app) warnOfUnplayed(not []replay.Unplayed) {
	for _, u := range not {
		a.warn("not_played", u.String())
	}
}

// replayAgainst plays the conversations against a server and shows what came out.
func (a *app) replayAgainst(ctx context.Context, to replayArgs, o replay.Options) error {
	a.url = to.target
	c, err := a.connect()
	if err != nil {
		return err
	}
	p := a.progress()
	if p != nil {
		p.unit = "conversations"
		o.Progress = func(done, total int) { p.at(done, total, "") }
	}
	target := replay.Target{Client: c, Session: strings.ToLower(rand.Text()[:10]), AtOnce: to.atOnce, Faults: to.rate}
	report, err := replay.RunAgainst(ctx, target, o)
	p.end()
	if missing, ok := errors.AsType[*replay.MissingError](err); ok {
		return usagef("%v", missing)
	}
	if err != nil {
		return err
	}
	if err := a.printReport(report); err != nil {
		return err
	}
	switch {
	case !report.OK():
		return &failure{ExitFailed, "mismatch", report.Verdict()}
	case report.Conversations == 0:
		return &failure{ExitFailed, "not_played", fmt.Sprintf("none of the %d conversations can be said in an agent file; nothing was played",
			len(report.Unplayed))}
	}
	return nil
}
