// Package measure runs workloads and counts what they cost. Cases take turns, so that what slows
// the machine down for a while slows all of them, and around each the raw commits of the same disk
// are measured, which the figures are compared with.
package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/workload"
)

// Options are what is measured, and how. Shapes and Rounds are required.
type Options struct {
	Shapes []workload.Shape
	Rounds int    // that each shape is run
	Seed   uint64 // of the text that tools return
	Dir    string // on the disk to measure; the system's directory for temporary files if empty
	Lambda Lambda // for the price of a run; only with DynamoDB

	// DynamoDB is the address of a server that speaks its protocol: the functions of a stack
	// are measured on it, in this process. Otherwise the embedded server is.
	DynamoDB string
	// Cold begins each step without what earlier ones have read; only with DynamoDB.
	Cold bool

	// Progress is called now and then with the steps that are done, and how many there are.
	Progress func(done, of int)
}

// Run measures. Its files are removed again.
func Run(ctx context.Context, o Options) (report Report, err error) {
	dir, err := os.MkdirTemp(o.Dir, "dormouse-bench")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	open := func() (target, error) { return openEmbedded(ctx, dir) }
	if o.DynamoDB != "" {
		open = func() (target, error) { return openDynamoDB(ctx, o.DynamoDB, o.Cold) }
	}
	on, err := open()
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, on.close(ctx)) }()
	b := &bench{Options: o, dir: dir, target: on, text: workload.NewText(o.Seed)}
	for _, s := range o.Shapes {
		if err := s.Check(); err != nil {
			return report, err
		}
		b.total += s.Total() * o.Rounds
	}
	rounds := make([][]round, len(o.Shapes))
	for n := range o.Rounds {
		for i, s := range o.Shapes {
			r, err := b.one(ctx, s, fmt.Sprintf("%d-%d", n, i))
			if err != nil {
				return report, fmt.Errorf("%s: %w", s, err)
			}
			rounds[i] = append(rounds[i], r)
		}
	}
	return b.report(rounds), nil
}

// bench is a measurement in progress.
type bench struct {
	Options
	dir         string
	target      target
	text        *workload.Text
	done, total int       // steps
	commits     []float64 // raw ones of all rounds, medians
}

// one runs a shape once, on a new store.
func (b *bench) one(ctx context.Context, s workload.Shape, name string) (r round, err error) {
	before, err := b.target.commits(ctx)
	if err != nil {
		return r, err
	}
	if r, err = b.perform(ctx, s, filepath.Join(b.dir, name)); err != nil {
		return r, err
	}
	after, err := b.target.commits(ctx)
	all := slices.Sorted(slices.Values(append(before, after...)))
	r.raw = at(all, 50)
	b.commits = append(b.commits, r.raw)
	b.done += s.Total()
	b.progress(0)
	return r, err
}

func (b *bench) perform(ctx context.Context, s workload.Shape, dir string) (r round, err error) {
	o := newObserver(b.progress)
	desk := workload.NewDesk(s, b.text, o.asked)
	back, err := b.target.begin(ctx, dir, desk)
	if err != nil {
		return r, err
	}
	o.count = back.count
	r, err = perform(ctx, back, desk, o, s)
	return r, errors.Join(err, back.close(), os.RemoveAll(dir))
}

func (b *bench) report(rounds [][]round) Report {
	r := Report{Store: "embedded", Machine: ThisMachine(), Seed: b.Seed, Rounds: b.Rounds, RawCommit: RangeOf(b.commits)}
	if b.DynamoDB != "" {
		r.Store, r.Cold, r.Prices, r.Lambda = "dynamodb", b.Cold, &listPrices, &b.Lambda
	}
	for i, s := range b.Shapes {
		c := summarize(s, rounds[i])
		if r.Prices != nil {
			price := overRounds(rounds[i], func(one round) float64 { return r.Prices.of(one.total.over(s.Runs), s.Steps, b.Lambda) })
			c.Price = &price
		}
		r.Cases = append(r.Cases, c)
	}
	return r
}

// progress tells how many steps of the round at hand are done.
func (b *bench) progress(done int) {
	if b.Progress != nil {
		b.Progress(b.done+done, b.total)
	}
}

// Machine is where it was measured.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

// ThisMachine is the one that this process runs on.
func ThisMachine() Machine {
	return Machine{runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()}
}
