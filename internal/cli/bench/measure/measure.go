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
	disk, err := openRaw(ctx, dir)
	if err != nil {
		return report, err
	}
	defer disk.close()
	b := &bench{Options: o, dir: dir, disk: disk, text: workload.NewText(o.Seed)}
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
	report = Report{Machine: machine(), Seed: o.Seed, Rounds: o.Rounds, RawCommit: rangeOf(b.commits)}
	for i, s := range o.Shapes {
		report.Cases = append(report.Cases, summarize(s, rounds[i]))
	}
	return report, nil
}

// bench is a measurement in progress.
type bench struct {
	Options
	dir         string
	disk        *raw
	text        *workload.Text
	done, total int       // steps
	commits     []float64 // raw ones of all rounds, medians
}

// one runs a shape once, on a new store.
func (b *bench) one(ctx context.Context, s workload.Shape, name string) (r round, err error) {
	before, err := b.disk.commits(ctx)
	if err != nil {
		return r, err
	}
	if r, err = b.perform(ctx, s, filepath.Join(b.dir, name)); err != nil {
		return r, err
	}
	after, err := b.disk.commits(ctx)
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
	back, err := startEmbedded(ctx, dir, desk)
	if err != nil {
		return r, err
	}
	o.count = back.count
	r, err = perform(ctx, back, desk, o, s)
	return r, errors.Join(err, back.close(), os.RemoveAll(dir))
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

func machine() Machine {
	return Machine{runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()}
}
