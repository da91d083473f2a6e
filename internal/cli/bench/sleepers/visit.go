package sleepers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// visit is what a round showed of a store. Times are in milliseconds.
type visit struct {
	start, memory     float64
	firstPage, page   []float64
	decisions, sweeps []float64
}

// repeats is how often a page is read and the sweep is run in a round.
const repeats = 30

// visit starts the server of a store and measures it.
func (b *bench) visit(ctx context.Context, s store, round int) (v visit, err error) {
	file, err := os.Open(s.File()) // closed after the database is
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if v.sweeps, err = b.sweeps(ctx, s, file); err != nil {
		return v, err
	}
	server, err := b.start(ctx, s.Place)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	ctx, stop := served.UntilFull(ctx, server.api)
	defer stop()
	defer func() { err = served.Why(ctx, err) }()
	v.start = ms(server.took)
	cursor := ""
	for range deepPage - 1 {
		if cursor, err = server.page(ctx, cursor); err != nil {
			return v, err
		}
	}
	for range repeats {
		for at, took := range map[string]*[]float64{"": &v.firstPage, cursor: &v.page} {
			if err := b.cool(file); err != nil {
				return v, err
			}
			began := time.Now()
			if _, err := server.page(ctx, at); err != nil {
				return v, err
			}
			*took = append(*took, ms(time.Since(began)))
		}
	}
	for _, i := range s.chosen(round, b.Decisions) {
		if err := b.cool(file); err != nil {
			return v, err
		}
		took, err := b.decide(ctx, server, s, i)
		if err != nil {
			return v, err
		}
		v.decisions = append(v.decisions, ms(took))
	}
	v.memory = server.Memory()
	return v, nil
}

// cool makes what is measured next read the disk, if that is asked for.
func (b *bench) cool(file *os.File) error {
	if !b.Cold {
		return nil
	}
	return evict(file)
}

// deepPage is the number of the page that is compared with the first.
const deepPage = 100

// decide approves the call of a run, and returns how long it took until the model was asked again.
func (b *bench) decide(ctx context.Context, server *server, s store, i int) (time.Duration, error) {
	d := b.draw(s, i)
	began := time.Now()
	if _, err := server.api.Decide(ctx, d.Run(), client.Decision{Target: d.ID(), DecisionID: d.ID(), Action: "resume"}); err != nil {
		return 0, err
	}
	asked, err := b.model.next(ctx)
	if err != nil {
		return 0, err
	}
	run, err := server.api.WaitRun(ctx, d.Run())
	if err == nil && (run.Reason == nil || *run.Reason != client.ReasonNaturalEnd) {
		err = fmt.Errorf("run %s did not end: %+v", d.Run(), run)
	}
	return asked.Sub(began), err
}

// sweeps runs the sweep of a server that has nothing to wake. No server is running: this process
// opens the store.
func (b *bench) sweeps(ctx context.Context, s store, file *os.File) (took []float64, err error) {
	db, err := sqlite.Open(ctx, s.File(), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for range repeats {
		if err := b.cool(file); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := sweeper.Sweep(ctx, db, none{}, machine.Clock{}, time.Minute); err != nil {
			return nil, err
		}
		took = append(took, ms(time.Since(began)))
	}
	return took, nil
}

// none is the waker of a sweep that finds nothing.
type none struct{}

// Send implements [engine.Waker].
func (none) Send(_ context.Context, w engine.Wakeup, _ time.Duration) error {
	return fmt.Errorf("thread %s is due, which waits until tomorrow", w.Thread)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
