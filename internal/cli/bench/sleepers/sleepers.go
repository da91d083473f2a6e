// Package sleepers measures a server whose store holds many waiting runs: what a decision, a page
// of the inbox, a sweep and a start cost beside them, and how much space each of them takes. The
// server is a separate process, and the runs are copies of one that it executed.
package sleepers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
)

// Options are what is measured. Waiting, Rounds, Decisions and Program are required.
type Options struct {
	Waiting   []int // numbers of waiting runs, one store each
	Rounds    int   // in each, every store is measured once
	Decisions int   // in each round
	Seed      uint64
	// drop the file from the system's cache before each measurement but that of the start
	Cold bool
	// on the disk to measure; the system's directory for temporary files if empty
	Dir     string
	Program []string // command of the server, without the flags of `dormouse dev`

	// Progress is called now and then: first with the runs that are written, then with the
	// stores that are measured in all rounds.
	Progress func(what string, done, of int)
}

// Least is the least number of waiting runs: the inbox has a page 100 of them.
const Least = deepPage * pageSize

// spare are runs of a store that wait beside those that are asked for: decisions use them up.
const spare = 10

// Run measures. Its files are removed again.
func Run(ctx context.Context, o Options) (report Report, err error) {
	dir, err := os.MkdirTemp(o.Dir, "dormouse-sleepers")
	if err != nil {
		return report, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m, err := startModel()
	if err != nil {
		return report, err
	}
	defer m.close()
	b := &bench{Options: o, model: m}
	if err := b.fill(ctx, dir); err != nil {
		return report, err
	}
	visits := make([][]visit, len(b.stores))
	for round := range o.Rounds {
		for k := range b.stores {
			i := k
			if round%2 == 1 { // so that no store always comes after the same one
				i = len(b.stores) - 1 - k
			}
			v, err := b.visit(ctx, b.stores[i], round)
			if err != nil {
				return report, fmt.Errorf("%d waiting runs: %w", o.Waiting[i], err)
			}
			visits[i] = append(visits[i], v)
			b.progress("measurements", round*len(b.stores)+k+1, o.Rounds*len(b.stores))
		}
	}
	return b.report(visits), nil
}

// bench is a measurement in progress.
type bench struct {
	Options
	model  *model
	stores []store
}

func (b *bench) progress(what string, done, of int) {
	if b.Progress != nil {
		b.Progress(what, done, of)
	}
}

// store is the data directory of a server, with its waiting runs.
type store struct {
	waiting, total int   // total has those that decisions use up
	born           int64 // when the last one began
	served.Place
	space map[string]float64 // bytes per run of each table and index
	bytes float64            // of the file, per run
}

// chosen are the numbers of the runs that a round decides, spread over the store. No round has one
// of another round.
func (s store) chosen(round, decisions int) (all []int) {
	rounds := (s.total - s.waiting - spare) / decisions
	for i := range decisions {
		all = append(all, (i*rounds+round)*(s.total/(decisions*rounds)))
	}
	return all
}
