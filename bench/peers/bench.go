//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// bench is a comparison in progress.
type bench struct {
	options
	model    *model
	versions map[string]string
	figures  map[string]map[int][]figures // by peer and steps: one of each round
	failed   map[string]string            // by peer, and by peer and steps: why there are none
	flushes  map[string]float64           // per step
}

// figures are what a step costs in a round. Times are in milliseconds.
type figures struct {
	wall, cpu, gap, decision float64
	asked                    float64 // requests to the model per step
}

func newBench(o options) (*bench, error) {
	m, err := startModel()
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, model: m, versions: map[string]string{}, figures: map[string]map[int][]figures{}, failed: map[string]string{}, flushes: map[string]float64{}}
	for _, name := range o.peers {
		home := filepath.Join(o.work, find(name).source())
		if _, err := os.Stat(home); err != nil && len(find(name).install) > 0 {
			return nil, fmt.Errorf("%s is not installed; run bench/peers/run install", name)
		}
		b.versions[name] = find(name).version(home)
		b.figures[name] = map[int][]figures{}
	}
	return b, nil
}

// rounds measures all peers, each with a new store in each round. Every round begins with another
// peer.
func (b *bench) rounds(ctx context.Context) error {
	for round := range b.options.rounds {
		for i := range b.peers {
			name := b.peers[(i+round)%len(b.peers)]
			fmt.Fprintf(os.Stderr, "round %d: %s\n", round+1, name)
			err := b.serve(ctx, name, "", func(c caller, w *world) error { return b.round(ctx, name, c, w) })
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				b.failed[name] = err.Error()
				fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			}
		}
	}
	return nil
}

// serve starts a peer with a new store, and stops it after use.
func (b *bench) serve(ctx context.Context, name, traced string, use func(caller, *world) error) error {
	dir, err := os.MkdirTemp(b.work, "data-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	w := &world{home: filepath.Join(b.work, find(name).source()), dir: dir, model: b.model.url, traced: traced}
	defer w.stop()
	c, err := find(name).start(ctx, w)
	if err == nil {
		err = use(c, w)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, w.said())
	}
	return nil
}

func (b *bench) round(ctx context.Context, name string, c caller, w *world) error {
	if err := b.warm(ctx, c); err != nil {
		return err
	}
	for _, steps := range b.steps {
		if b.failed[key(name, steps)] != "" {
			continue
		}
		f, err := b.measure(ctx, c, w, steps)
		switch {
		case errors.Is(err, errSlow):
			b.failed[key(name, steps)] = fmt.Sprintf("a run takes longer than %s", b.limit)
			fmt.Fprintf(os.Stderr, "%s: %s\n", key(name, steps), b.failed[key(name, steps)])
			return nil // it may still be at work
		case err != nil:
			return fmt.Errorf("%d steps: %w", steps, err)
		}
		b.figures[name][steps] = append(b.figures[name][steps], f)
	}
	return nil
}

// warm executes the first run, which isn't measured.
func (b *bench) warm(ctx context.Context, c caller) error {
	ctx, stop := context.WithTimeoutCause(ctx, b.limit, errSlow)
	defer stop()
	if _, err := b.run(ctx, c, "warm-up", b.warmUp); err != nil {
		return fmt.Errorf("the first run: %w", err)
	}
	return nil
}

func key(name string, steps int) string { return fmt.Sprintf("%s, %d steps", name, steps) }

var errSlow = errors.New("a run takes too long")

func (b *bench) measure(ctx context.Context, c caller, w *world, steps int) (f figures, err error) {
	ctx, stop := context.WithTimeoutCause(ctx, b.limit, errSlow)
	defer stop()
	runs := max(1, b.least/steps)
	var all run
	began := processor(w.processes)
	for i := range runs {
		r, err := b.run(ctx, c, fmt.Sprintf("run-%d-%d", steps, i), steps)
		if err != nil && context.Cause(ctx) == errSlow {
			return f, errSlow
		}
		if err != nil {
			return f, err
		}
		all.wall += r.wall
		all.asked += r.asked
		all.gaps = append(all.gaps, r.gaps...)
		all.decisions = append(all.decisions, r.decisions...)
	}
	n := float64(runs * steps)
	return figures{ms(all.wall) / n, ms(processor(w.processes)-began) / n, median(all.gaps), median(all.decisions), float64(all.asked) / n}, nil
}

// run is what one run showed.
type run struct {
	wall            time.Duration // without the time of the approver
	gaps, decisions []float64
	asked           int
}

// run executes a run, and is its caller and approver.
func (b *bench) run(ctx context.Context, c caller, id string, steps int) (r run, err error) {
	b.model.expect(steps)
	began := time.Now()
	if err := c.start(ctx, id, steps); err != nil {
		return r, err
	}
	decided := map[int]time.Time{}
	var idle time.Duration
	for range 2 {
		step, err := b.model.next(ctx)
		if err != nil {
			return r, err
		}
		asleep := time.Now()
		time.Sleep(b.thinking)
		if err := c.waits(ctx, id); err != nil {
			return r, err
		}
		decided[step] = time.Now()
		idle += decided[step].Sub(asleep)
		if err := c.approve(ctx, id, step); err != nil {
			return r, err
		}
	}
	if err := c.done(ctx, id); err != nil {
		return r, err
	}
	r.wall = time.Since(began) - idle
	at, asked, err := b.model.observed()
	r.asked = asked
	for i := 1; i < len(at); i++ {
		if sent, ok := decided[i]; ok {
			r.decisions = append(r.decisions, ms(at[i].Sub(sent)))
		} else {
			r.gaps = append(r.gaps, ms(at[i].Sub(at[i-1])))
		}
	}
	return r, err
}

// verified are the steps of a run whose flushes are counted.
const verified = 30

// verify counts the flushes of each peer in a run that is not measured.
func (b *bench) verify(ctx context.Context) {
	for _, name := range b.peers {
		if len(b.figures[name]) == 0 {
			continue
		}
		fmt.Fprintln(os.Stderr, "counting the flushes of", name)
		traced, err := os.MkdirTemp(b.work, "traced-")
		if err == nil {
			err = os.Chmod(traced, 0o777) // Postgres has another user
		}
		if err == nil {
			err = b.serve(ctx, name, traced, func(c caller, _ *world) error {
				if err := b.warm(ctx, c); err != nil {
					return err
				}
				files, _ := filepath.Glob(filepath.Join(traced, "*"))
				before := flushes(files)
				ctx, stop := context.WithTimeoutCause(ctx, b.limit, errSlow)
				defer stop()
				_, err := b.run(ctx, c, "traced", verified)
				b.flushes[name] = float64(flushes(files)-before) / verified
				return err
			})
		}
		if err != nil {
			b.failed["the flushes of "+name] = err.Error()
			fmt.Fprintf(os.Stderr, "the flushes of %s: %v\n", name, err)
		}
		os.RemoveAll(traced)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
