package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Delivery is one delivery of a message.
type Delivery struct {
	ID      string
	Receipt string // of this delivery only
	Tenant  string // tenant of the queue that it came from
	Body    []byte // as it was sent; untrusted
	// deliveries, including this one, since it was sent or was last found [Busy]
	Attempts int
	Returned int // how often it was returned to the queue
}

// Queue holds messages until they are settled. Its errors are those of package engine.
type Queue interface {
	// Receive returns up to max messages and hides each one for a while; a message that is not
	// settled by then is delivered again. No message blocks another. An empty queue is not an
	// error.
	Receive(ctx context.Context, max int) ([]Delivery, error)

	// Settle applies the result: it removes the message, returns it with a delay, or moves it
	// to the dead letters with the reason; all of that or nothing. If the message has been
	// delivered again or settled since, it returns [engine.ErrRefused] and does nothing.
	Settle(ctx context.Context, d Delivery, f Result) error
}

// Pump receives messages from a queue and starts their runs. All fields but See are required.
type Pump struct {
	Queue   Queue
	Handler *Handler
	Clock   engine.Clock
	Log     *slog.Logger
	See     string // the command that lists dead letters, for the log

	// Room returns how many more runs may be started now. Messages that are not started wait in
	// the queue: if a large file were started at once, a run that a person requests would wait
	// behind all of it.
	Room func(ctx context.Context) (int, error)

	Batch   int           // messages per request
	Poll    time.Duration // how often an empty queue is polled
	Crowded time.Duration // how often capacity is checked when there is none
}

// Run works until ctx ends, and then finishes its current batch.
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

// Once handles one batch. It returns how many messages it settled, and whether it received none for
// lack of capacity. It starts the runs of a batch concurrently: a store with group commit combines
// their writes, and a slow one delays only its batch.
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
		p.Log.Warn("receiving from the intake queue failed; retrying", "error", err)
	}
	// the batch is short, and would otherwise stay hidden for a while
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
	f := p.Handler.Decide(ctx, d)
	if f.Outcome == Dead {
		p.Log.Warn("a message of the intake queue was moved to the dead letters", "message", d.ID, "code", f.Code, "reason", f.Detail, "see", p.See)
	}
	if err := p.Queue.Settle(ctx, d, f); err != nil {
		p.Log.Debug("a message of the intake queue will be redelivered", "message", d.ID, "error", err)
		return false
	}
	return true
}
