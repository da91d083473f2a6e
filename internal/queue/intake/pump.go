package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Delivery is one hand-over of a message.
type Delivery struct {
	ID      string
	Receipt string // of this hand-over only
	Tenant  string // whose queue it came from
	Body    []byte // as it was put in; it may be anything
	// hand-overs since it was put in or was last found [Busy], this one included
	Attempts int
	Returned int // how often it was given back
}

// Queue keeps messages until they are settled. Errors are those of package engine.
type Queue interface {
	// Receive hands over up to max messages, and hides each for a while: one that is not
	// settled by then comes again. No message keeps another from being handed over. Nothing to
	// hand over is no error.
	Receive(ctx context.Context, max int) ([]Delivery, error)

	// Settle does what the fate says: removes the message, shows it again after a while, or
	// moves it to the dead letters with the reason; all of that or nothing. [engine.ErrRefused]
	// if the message was handed over again or settled since; then nothing is done.
	Settle(ctx context.Context, d Delivery, f Fate) error
}

// Pump takes messages from a queue and starts their runs. All members but See are required.
type Pump struct {
	Queue Queue
	Desk  *Desk
	Clock engine.Clock
	Log   *slog.Logger
	See   string // the command that shows messages which were put aside, for the log

	// Room says how many more runs may be started now. What is not started waits in the queue,
	// in nobody's way: were a night's file started at once, a run that a person asks for would
	// wait behind all of it.
	Room func(ctx context.Context) (int, error)

	Batch   int           // messages at once
	Poll    time.Duration // how often an empty queue is looked at
	Crowded time.Duration // how often it is looked whether there is room
}

// Run works until ctx ends, and finishes what is at hand then.
func (p *Pump) Run(ctx context.Context) {
	for ctx.Err() == nil {
		settled, crowded := p.Once(ctx)
		pause := p.Poll
		if crowded {
			pause = p.Crowded
		}
		if settled == 0 && engine.Sleep(ctx, p.Clock, pause) != nil {
			return
		}
	}
}

// Once takes one batch. It says how many messages it settled, and whether it took none because
// there is no room. It starts them side by side: a store that commits independent writes together
// does so for them, and one that is slow delays its batch only.
func (p *Pump) Once(ctx context.Context) (settled int, crowded bool) {
	room, err := p.Room(ctx)
	if err == nil && room <= 0 {
		return 0, true
	}
	var got []Delivery
	if err == nil {
		got, err = p.Queue.Receive(ctx, min(room, p.Batch))
	}
	if err != nil && ctx.Err() == nil {
		p.Log.Warn("receiving from the intake queue failed; it is tried again", "error", err)
	}
	// what is at hand is short, and would otherwise stay hidden for a while
	return p.settle(context.WithoutCancel(ctx), got), false
}

func (p *Pump) settle(ctx context.Context, got []Delivery) (settled int) {
	done := make([]bool, len(got))
	var wg sync.WaitGroup
	for i, d := range got {
		wg.Go(func() { done[i] = p.handle(ctx, d) })
	}
	wg.Wait()
	for _, ok := range done {
		if ok {
			settled++
		}
	}
	return settled
}

func (p *Pump) handle(ctx context.Context, d Delivery) bool {
	f := p.Desk.Decide(ctx, d)
	if f.Outcome == Dead {
		p.Log.Warn("a message of the intake queue was put aside", "message", d.ID, "code", f.Code, "reason", f.Detail, "see", p.See)
	}
	if err := p.Queue.Settle(ctx, d, f); err != nil {
		p.Log.Debug("a message of the intake queue will come again", "message", d.ID, "error", err)
		return false
	}
	return true
}
