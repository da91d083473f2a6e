package lambdasweep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// period is the interval of the schedule. A run that is still due after it gets another wake-up.
const period = time.Minute

// handler sweeps. It is safe for concurrent use: concurrent sweeps only repeat wake-ups.
type handler struct {
	store   store
	waker   waker
	clock   engine.Clock
	metrics *emf.Metrics
	units   interface{ Take() (read, write float64) } // consumed by requests to the table
	log     *slog.Logger
}

type store interface {
	engine.Overdue

	// OldestDue returns the earliest due time at or before now, in milliseconds, or 0 if
	// nothing is due.
	OldestDue(ctx context.Context, now int64) (int64, error)
}

type waker interface {
	engine.Waker
	sweeper.Batcher
}

func newHandler(p stack.Parts) *handler {
	return &handler{store: p.Store, waker: p.Waker, clock: p.Clock, metrics: p.Metrics, units: p.Units, log: p.Logger}
}

// handle sweeps until nothing is due or the time is up; the next invocation does the rest. It
// ignores the event, because every invocation means the same.
func (h *handler) handle(ctx context.Context) error {
	log, counts, sent := stack.Requested(ctx, h.log), emf.Counts{}, &counter{waker: h.waker}
	if err := h.measure(ctx, counts); err != nil {
		log.Warn("cannot read the age of the oldest due entry", "error", err)
	}
	inTime, cancel := stack.InTime(ctx)
	defer cancel()
	err := sweeper.Sweep(ctx, within{h.store, inTime}, sent, h.clock, period)
	if inTime.Err() != nil {
		log.Warn("the sweep ran out of time; the next one continues", "sent", sent.n.Load())
	}
	err = judge(log, counts, err)
	counts.Add(emf.Overdue, float64(sent.n.Load()))
	read, write := h.units.Take()
	counts.Add(emf.ReadUnits, read)
	counts.Add(emf.WriteUnits, write)
	if err := h.metrics.Write(counts); err != nil {
		log.Error("cannot write metrics", "error", err)
	}
	if err != nil {
		log.Error("the sweep failed; the next one continues", "sent", sent.n.Load(), "error", err)
	}
	return err
}

// judge logs and counts failures. It returns an error only if the sweep woke no run at all, because
// an alarm watches failed invocations: one hot key must not trigger it, and a missing table or
// queue must. Requests that were cut off when the time was up don't count as failures.
func judge(log *slog.Logger, counts emf.Counts, err error) error {
	counts.Add(emf.SweepFailures, 0)
	failed, ok := errors.AsType[*sweeper.Error](err)
	if !ok {
		return err
	}
	failed.Failures = slices.DeleteFunc(failed.Failures, func(err error) bool {
		return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	})
	failed.Log(log)
	counts.Add(emf.SweepFailures, float64(len(failed.Failures)))
	if failed.Woken > 0 || len(failed.Failures) == 0 {
		return nil
	}
	return failed
}

// within moves entries until a context ends. The wake-ups of those that were moved by then may take
// longer: they would otherwise come a period late.
type within struct {
	engine.Overdue
	ctx context.Context
}

func (w within) TakeOverdue(_ context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	return w.Overdue.TakeOverdue(w.ctx, now, next, limit)
}

// measure records the age of the oldest due entry. It runs before the sweep, which moves the
// entries that it finds. If a part of the index can't be read, the age is that of the other parts.
func (h *handler) measure(ctx context.Context, counts emf.Counts) error {
	now := h.clock.Now()
	oldest, err := h.store.OldestDue(ctx, now.UnixMilli())
	if err != nil && oldest == 0 {
		return err
	}
	age := time.Duration(0)
	if oldest > 0 {
		age = now.Sub(time.UnixMilli(oldest))
	}
	counts.Add(emf.OldestDueSeconds, age.Seconds())
	return err
}

// counter counts the wake-ups that were sent.
type counter struct {
	waker
	n atomic.Int64
}

func (c *counter) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	err := c.waker.Send(ctx, w, delay)
	if err == nil {
		c.n.Add(1)
	}
	return err
}

func (c *counter) SendAll(ctx context.Context, ws []engine.Wakeup) []error {
	errs := c.waker.SendAll(ctx, ws)
	for _, err := range errs {
		if err == nil {
			c.n.Add(1)
		}
	}
	return errs
}
