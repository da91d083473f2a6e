package suites

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

const (
	tortureCallers = 12
	// leases of killed owners run out, and messages come again
	torturePatience = 4 * time.Minute
	// how many lines of progress a long load prints
	progressLines = 40
)

// tortureStack: callers do everything that callers do, functions are killed in the middle of what
// they do, and what was acknowledged is looked for.
func tortureStack(ctx context.Context, t *Target, b *book) { t.torture(ctx, b, "torture", func() {}) }

// torture is the load of a suite, and the checks of what came of it. Over is called when no new
// runs are started any more, and no more functions are killed.
func (t *Target) torture(ctx context.Context, b *book, name string, over func()) {
	dir := filepath.Join(t.Dir, name)
	agents := filepath.Join(dir, "agents")
	// a stack elsewhere cannot reach this machine: answers stand in the agents' files
	service := ""
	if t.Service != nil {
		service = "http://" + t.Service.Host()
	}
	if !b.check("the agents of the torture are deployed", errors.Join(os.MkdirAll(dir, 0o700), torture.WriteAgents(agents, service), t.deploy(ctx, agents))) {
		return
	}
	last := time.Duration(0)
	o := torture.Options{Client: client.New(t.API, client.WithToken(t.Token), client.WithHTTPClient(&http.Client{Timeout: requestLimit}), client.WithRetries(0)), Own: true, For: t.For, Callers: tortureCallers, Seed: t.Seed,
		Session: fmt.Sprintf("%s-%d", name, t.Seed), Patience: torturePatience, Dir: dir,
		Progress: func(p torture.Progress) {
			if p.Took-last >= t.For/progressLines {
				last = p.Took
				b.say("%3.0fs: %d runs, %d decisions, %d messages, %d cancels%s", p.Took.Seconds(), p.Runs, p.Decisions, p.Messages, p.Cancels, t.faulted())
			}
		}}
	if t.Service != nil {
		o.Ledger = t.Service.Ledger
		// What suites before have paid is no business of this one. The service opens its
		// file for each line.
		if err := os.Rename(o.Ledger, o.Ledger+".before"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.check("the ledger is empty", err)
			return
		}
	}
	stop := t.kill()
	defer stop()
	// what was begun is finished without more of it
	timer := time.AfterFunc(t.For, func() { stop(); over() })
	defer timer.Stop()
	report, err := torture.Run(ctx, o)
	if err == nil && !report.Held {
		var text strings.Builder
		err = errors.Join(fmt.Errorf("%d promises were broken", len(report.Violations)), report.Print(&text))
		err = fmt.Errorf("%w\n%s", err, text.String())
	}
	b.check("nothing that was acknowledged is lost, and nothing happened twice", err)
	t.checkKills(b, stop())
	b.say("%d runs, %d decisions, %d messages, %d cancels, %d marks in the ledger", report.Runs, report.Decisions, report.Messages, report.Cancels, report.Effects)
}
