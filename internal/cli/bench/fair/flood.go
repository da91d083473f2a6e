package fair

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/copies"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// flood is what the large tenant does. Its runs are waiting already, for some time.
type flood struct {
	name    string
	size    int
	waiting int           // runs that the store has before
	since   time.Duration // how long they have been waiting
	request func(ctx context.Context, b *bench, api *client.Client, i int) error
}

func floods(o Options) []flood {
	return []flood{
		{name: "alone"},
		{name: "starts", size: o.Starts, request: start},
		{name: "decisions", size: o.Decisions, waiting: o.Decisions, request: decide},
		{name: "due", size: o.Due, waiting: o.Due, since: 2 * time.Hour},
	}
}

func start(ctx context.Context, _ *bench, api *client.Client, _ int) error {
	_, err := api.StartRun(ctx, client.StartRequest{Agent: "desk", Input: core.Encode(served.Request)}, "")
	return err
}

func decide(ctx context.Context, b *bench, api *client.Client, i int) error {
	d := b.draw(i, 0)
	return approve(ctx, api, d.Run(), d.ID())
}

// rising is a flood in progress.
type rising struct {
	answered atomic.Int64
	first    chan struct{} // closed when some requests are answered, or when there are none
	stop     func()        // ends it, and returns when no request is under way

	refused error // the first error, if there was one before the flood had begun
}

// head is how many requests are answered, or due runs go on, before the small tenant begins.
const head = 100

// begin sends the requests of a flood until it is stopped.
func (f flood) begin(ctx context.Context, b *bench, api *client.Client) *rising {
	ctx, cancel := context.WithCancel(ctx)
	r := &rising{first: make(chan struct{})}
	var hands sync.WaitGroup
	r.stop = func() { cancel(); hands.Wait() }
	var next atomic.Int64
	var once sync.Once
	if f.request == nil {
		go func() {
			r.refused = b.model.reached(ctx, int64(min(head, f.waiting)))
			close(r.first)
		}()
		return r
	}
	for range b.Hands {
		hands.Go(func() {
			for i := next.Add(1) - 1; i < int64(f.size) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := f.request(ctx, b, api, int(i)); err != nil {
					once.Do(func() { r.refused = err; close(r.first) })
					return
				}
				if n := r.answered.Add(1); n >= int64(min(head, f.size)) {
					once.Do(func() { close(r.first) })
				}
			}
		})
	}
	return r
}

// begun returns once the flood is high enough.
func (r *rising) begun(ctx context.Context) error {
	select {
	case <-r.first:
		return r.refused
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// batch is how many runs are written in one transaction.
const batch = 2000

// fill writes the waiting runs of a flood: the server executes one until it waits, which is copied.
func (b *bench) fill(ctx context.Context, p served.Place, f flood) (err error) {
	if f.waiting == 0 {
		return nil
	}
	thread, err := b.first(ctx, p)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, p.File(), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}, Sync: dbfile.SyncOff})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	template, err := copies.Of(ctx, db, large.name, thread)
	if err != nil {
		return err
	}
	for from := 0; from < f.waiting; from += batch {
		var draws []copies.Drawn
		for i := from; i < min(from+batch, f.waiting); i++ {
			draws = append(draws, b.draw(i, template.Born-f.since.Milliseconds()-int64(i)-1))
		}
		if err := template.Write(ctx, db, draws); err != nil {
			return err
		}
	}
	return nil
}

// first lets the server execute the run that is copied, and returns its thread.
func (b *bench) first(ctx context.Context, p served.Place) (thread string, err error) {
	server, err := b.start(ctx, p)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	ctx, stop := served.UntilFull(ctx, b.caller(server, large))
	defer stop()
	defer func() { err = served.Why(ctx, err) }()
	run, err := asked(ctx, b.caller(server, large))
	return run.ThreadID, err
}

// draw returns what run i has of its own. The same seed draws the same ids.
func (b *bench) draw(i int, born int64) copies.Drawn {
	r := rand.New(rand.NewPCG(b.Seed, uint64(i)))
	return copies.Drawn{Thread: text(r, 24), Claim: text(r, 20), Suspension: text(r, 26), Born: born}
}

func text(r *rand.Rand, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}
