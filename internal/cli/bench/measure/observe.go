package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/workload"
)

// reading is the time and what was spent when a model was asked.
type reading struct {
	step  int
	at    time.Time
	spent Costs
}

// observer takes a reading whenever the model of a run is asked.
type observer struct {
	count func() Costs
	tell  func(steps int) // called after each

	mu     sync.Mutex
	runs   map[string][]reading
	decide map[string]time.Time // when the last decision about a run was sent
	waits  []float64            // from decisions to the next question to the model, in ms
	steps  int
}

func newObserver(tell func(steps int)) *observer {
	return &observer{tell: tell, runs: map[string][]reading{}, decide: map[string]time.Time{}}
}

func (o *observer) read(step int) reading {
	r := reading{step: step, at: time.Now(), spent: o.count()}
	if used, known := processor(); known {
		r.spent[CPU] = ms(used)
	}
	return r
}

func (o *observer) asked(run string, step int) {
	now := o.read(step)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.steps++
	o.tell(o.steps)
	o.runs[run] = append(o.runs[run], now)
	if sent, decided := o.decide[run]; decided {
		o.waits = append(o.waits, ms(now.at.Sub(sent)))
		delete(o.decide, run)
	}
}

func (o *observer) decided(run string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.decide[run] = time.Now()
}

// round is what one execution of a case showed.
type round struct {
	total Costs     // of all runs
	runs  []float64 // how long each took, in ms, sorted
	steps []step    // each, with what the process spent meanwhile
	waits []float64 // from decisions to the next question to the model, in ms
	raw   float64   // median of the commits before and after
}

// step is what happened from one question to the model until the next of the same run.
type step struct {
	number   int
	approved bool // a person decided about its call
	spent    Costs
}

// errUnfinished reports a run that ended otherwise than it should have.
var errUnfinished = errors.New("a run did not finish")

// perform runs a workload once, on a backend that has none yet.
func perform(ctx context.Context, b backend, desk *workload.Desk, o *observer, shape workload.Shape) (r round, err error) {
	ctx, stop := b.usable(ctx)
	defer stop()
	began := o.read(0)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	took := make([]float64, shape.Runs)
	for i := range took {
		wg.Go(func() {
			began := time.Now()
			if err := attend(ctx, b, desk, o); err != nil {
				cancel(err)
			}
			took[i] = ms(time.Since(began))
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return r, err
	}
	ended := o.read(0)
	r.total = ended.spent.minus(began.spent)
	r.total[Wall] = ms(ended.at.Sub(began.at))
	r.runs, r.waits = took, o.waits
	slices.Sort(r.runs)
	slices.Sort(r.waits)
	for _, readings := range o.runs {
		if len(readings) != shape.Steps {
			return r, fmt.Errorf("%w: the model was asked %d times for %d steps", errUnfinished, len(readings), shape.Steps)
		}
		for i, next := range readings[1:] {
			spent := next.spent.minus(readings[i].spent)
			spent[Wall] = ms(next.at.Sub(readings[i].at))
			r.steps = append(r.steps, step{readings[i].step, shape.Approved(readings[i].step), spent})
		}
	}
	return r, nil
}

// attend starts a run and is its caller and its approver until it is done. It asks about the run
// only when an answer is near, so that asking costs nothing in between.
func attend(ctx context.Context, b backend, desk *workload.Desk, o *observer) error {
	id, err := b.start(ctx)
	if err != nil {
		return err
	}
	for {
		select {
		case <-desk.Attention(id):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		run, err := b.settled(ctx, id)
		if err != nil {
			return err
		}
		if run.Status == client.StatusDone {
			if run.Error != nil || run.Reason == nil || *run.Reason != client.ReasonNaturalEnd {
				return fmt.Errorf("%w: %+v", errUnfinished, run)
			}
			return nil
		}
		if len(run.Pending) != 1 {
			return fmt.Errorf("%w: it waits for %d calls", errUnfinished, len(run.Pending))
		}
		o.decided(id)
		if err := b.decide(ctx, id, wire.Decision{Target: run.Pending[0].Suspension.ID, DecisionID: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
			return err
		}
	}
}
