package lambdasweep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// period is that of the schedule. What was sent and did not help is sent again after it.
const period = time.Minute

// handler sweeps. Safe for concurrent use: several sweeps at once do no harm.
type handler struct {
	store   store
	waker   engine.Waker
	clock   engine.Clock
	metrics *emf.Metrics
	units   interface{ Take() (read, write float64) } // of the table's requests
	log     *slog.Logger
}

type store interface {
	engine.Overdue

	// OldestDue is the first due time at or before now, in milliseconds; 0 if nothing is due.
	OldestDue(ctx context.Context, now int64) (int64, error)
}

func newHandler(p stack.Parts) *handler {
	return &handler{store: p.Store, waker: p.Wake, clock: p.Clock, metrics: p.Metrics, units: p.Units, log: p.Logger}
}

// handle sweeps until nothing is due or the time is up; the rest comes next time. It takes no part
// of the event: whatever invokes it means the same.
func (h *handler) handle(ctx context.Context) error {
	log, counts, sent := stack.Requested(ctx, h.log), emf.Counts{}, &counter{Waker: h.waker}
	if err := h.measure(ctx, counts); err != nil {
		log.Warn("how old the oldest due entry is could not be read", "error", err)
	}
	inTime, cancel := stack.InTime(ctx)
	defer cancel()
	err := engine.Sweep(inTime, h.store, sent, h.clock, period)
	if inTime.Err() != nil {
		log.Warn("the sweep had too little time; the next one goes on", "sent", sent.n)
	}
	err = judge(log, counts, err)
	counts.Add(emf.Overdue, float64(sent.n))
	read, write := h.units.Take()
	counts.Add(emf.ReadUnits, read)
	counts.Add(emf.WriteUnits, write)
	if err := h.metrics.Write(counts); err != nil {
		log.Error("metrics could not be written", "error", err)
	}
	if err != nil {
		log.Error("the sweep failed; the next one goes on", "sent", sent.n, "error", err)
	}
	return err
}

// judge logs and counts what failed, and returns the error of a sweep that woke nothing at all. A
// failed invocation is what an alarm looks at: it must not ring for one hot key, and it must when
// the table or the queue is gone. Requests that the end of the time cut off have not failed.
func judge(log *slog.Logger, counts emf.Counts, err error) error {
	counts.Add(emf.SweepFailures, 0)
	failed, ok := errors.AsType[*engine.SweepError](err)
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

// measure is done first: the sweep moves what it finds.
func (h *handler) measure(ctx context.Context, counts emf.Counts) error {
	now := h.clock.Now()
	oldest, err := h.store.OldestDue(ctx, now.UnixMilli())
	if err != nil {
		return err
	}
	age := time.Duration(0)
	if oldest > 0 {
		age = now.Sub(time.UnixMilli(oldest))
	}
	counts.Add(emf.OldestDueSeconds, age.Seconds())
	return nil
}

// counter counts what was sent.
type counter struct {
	engine.Waker
	n int
}

func (c *counter) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	err := c.Waker.Send(ctx, w, delay)
	if err == nil {
		c.n++
	}
	return err
}
