package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Options are a deliverer's surroundings. All but Logger, Bound and the times are required.
type Options struct {
	Lines     Lines
	Journal   Journal
	Endpoints Endpoints
	Waker     engine.Waker
	Clock     engine.Clock
	Random    engine.Random
	Logger    *slog.Logger
	Bound     notice.Bound // of lines; zero: [notice.Most]

	// Lease is how long one claim may deliver, where the context has no deadline; Margin of it
	// is kept for recording the last attempt. Skew and Grain are as for an engine.
	Lease, Margin, Skew, Grain time.Duration
}

// Deliverer works on lines. Safe for concurrent use.
type Deliverer struct{ o Options }

// New fills in what o leaves open: a lease of 2 minutes, a margin of 15 s, a grain of 5 s.
func New(o Options) *Deliverer {
	o.Lease = cmp.Or(o.Lease, 2*time.Minute)
	o.Margin = cmp.Or(o.Margin, 15*time.Second)
	o.Grain = cmp.Or(o.Grain, 5*time.Second)
	o.Bound = cmp.Or(o.Bound, notice.Most)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Deliverer{o}
}

// Report says what one claim came to.
type Report struct {
	Claimed                   bool
	Delivered, Failed, Buried int
}

// Deliver works on the line that a wake-up names until nothing of it is due or its time is over. A
// nil error means that the caller can delete the message; after an error the message should come
// again, and if it doesn't, the sweep finds the line.
func (d *Deliverer) Deliver(ctx context.Context, w engine.Wakeup) (Report, error) {
	k := notice.Key{Tenant: w.Tenant, Thread: w.Thread, Endpoint: w.Endpoint}
	a := &attempts{Deliverer: d, key: k, until: d.until(ctx)}
	var err error
	a.line, err = d.claim(ctx, k, a.until)
	if errors.Is(err, engine.ErrRefused) {
		return a.Report, nil
	}
	if err != nil {
		return a.Report, fmt.Errorf("claiming the line of %s to %s: %w", k.Thread, k.Endpoint, err)
	}
	a.Claimed = true
	err = a.work(ctx)
	if errors.Is(err, engine.ErrFenced) {
		d.o.Logger.Info("another worker took the line over", "thread", k.Thread, "endpoint", k.Endpoint)
		return a.Report, nil
	}
	return a.Report, err
}

func (d *Deliverer) now() int64 { return d.o.Clock.Now().UnixMilli() }

func (d *Deliverer) until(ctx context.Context) time.Time {
	if deadline, ok := ctx.Deadline(); ok {
		return deadline
	}
	return d.o.Clock.Now().Add(d.o.Lease)
}

func (d *Deliverer) claim(ctx context.Context, k notice.Key, until time.Time) (notice.Line, error) {
	end := until.Add(d.o.Skew).UnixMilli()
	grain := d.o.Grain.Milliseconds()
	return d.o.Lines.ClaimLine(ctx, engine.LineClaim{Key: k, Claim: d.o.Random.Text(20), Now: d.now(), LeaseEnd: end,
		Due: (end + grain - 1) / grain * grain})
}

// attempts is the work of one claim.
type attempts struct {
	*Deliverer
	Report
	key   notice.Key
	until time.Time
	line  notice.Line
}

// work attempts what is due, one notice after the other, and gives the line up.
func (a *attempts) work(ctx context.Context) error {
	for {
		event, some := a.line.Next(a.now())
		excess, full := a.line.Excess(a.o.Bound)
		var err error
		over := false
		switch going := a.timeLeft() > 0 && ctx.Err() == nil; {
		case full && going:
			over, err = a.record(ctx, excess, tooMany, a.now())
		case some && going:
			over, err = a.attempt(ctx, event)
		default:
			over, err = true, a.write(ctx, a.release(engine.LineWrite{}))
		}
		if errors.Is(err, engine.ErrRefused) {
			continue // more was handed over: the line that refused has it
		}
		if err != nil || over {
			return err
		}
	}
}

// timeLeft is how long attempts may still take.
func (a *attempts) timeLeft() time.Duration {
	return a.until.Add(-a.o.Margin).Sub(a.o.Clock.Now())
}

// tooMany is the end of a notice in a line without room for it. Nothing is sent.
var tooMany = Result{Outcome: notice.Hopeless, Error: notice.TooMany}

// attempt sends one notice and records what came of it. Over says that the line was given up with
// the same write.
func (a *attempts) attempt(ctx context.Context, event int64) (over bool, err error) {
	began := a.now()
	result, err := a.send(ctx, event, a.line.Entries[event])
	if err != nil {
		return false, err
	}
	return a.record(ctx, event, result, began)
}

// record writes what came of an attempt that began at a time.
func (a *attempts) record(ctx context.Context, event int64, result Result, began int64) (over bool, err error) {
	entry := a.line.Entries[event]
	if result.Outcome == notice.Gone {
		if err := a.o.Endpoints.Disable(ctx, a.key, result.Error); err != nil {
			return false, err
		}
	}
	after, state := entry.After(result.Outcome, notice.Attempt{At: began, Took: a.now() - began, Status: result.Status, Error: result.Error}, a.jitter())
	req := engine.LineWrite{Event: event, Entry: &after}
	if state != notice.StateWaiting {
		record := after.Record(a.key, event, state, a.now())
		req.Entry, req.Record = nil, &record
		if len(a.line.Entries) == 1 {
			req = a.release(req)
		}
	}
	dead := state == notice.StateDead
	if dead {
		req.Adds = a.line.Adds
	}
	err = a.write(ctx, req)
	for errors.Is(err, engine.ErrRefused) && !a.redriven(event, entry) && !req.Gone(a.line) {
		// more was handed over: the last that was known is not the last any more
		if req.Release, req.Adds = false, 0; dead {
			req.Adds = a.line.Adds
		}
		err = a.write(ctx, req)
	}
	if err == nil {
		a.count(event, after, state)
	}
	return req.Release, err
}

// redriven says that the line has the notice of an event again: an operator found it dead while the
// worker was about to remove entry.
func (a *attempts) redriven(event int64, entry notice.Entry) bool {
	now, waits := a.line.Entries[event]
	return waits && (now.Since != entry.Since || now.Tries != entry.Tries)
}

// send finds the event in the journal and makes the attempt. An error means that the journal could
// not be read: nothing was attempted.
func (a *attempts) send(ctx context.Context, event int64, entry notice.Entry) (Result, error) {
	e, err := a.event(ctx, entry.Seq, event)
	if err != nil {
		return Result{}, fmt.Errorf("reading event %d of %s: %w", event, a.key.Thread, err)
	}
	if e.Seq != event {
		return Result{Outcome: notice.Hopeless, Error: "the event is no longer in the journal"}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer a.o.Clock.AfterFunc(a.timeLeft(), func() { cancel(context.DeadlineExceeded) })()
	return a.o.Endpoints.Send(ctx, Notice{Key: a.key, Kind: entry.Kind, Event: e, Seq: entry.Seq, Tries: entry.Tries}), nil
}

func (a *attempts) event(ctx context.Context, seq, event int64) (found core.Event, err error) {
	segments, err := a.o.Journal.Segments(ctx, a.key.Tenant, a.key.Thread, seq, seq)
	for _, s := range segments {
		for _, e := range s.Events {
			if e.Seq == event {
				found = e
			}
		}
	}
	return found, err
}

// release makes a write give the line up. The line is then due when its next attempt is.
func (a *attempts) release(req engine.LineWrite) engine.LineWrite {
	left := a.line
	if req.Event != 0 {
		left.Entries = nil // a write that releases removes the last entry
	}
	req.Release, req.Due, req.Adds = true, left.Leave(a.now()), a.line.Adds
	return req
}

// write sends one write, and takes over the line that it leaves.
func (a *attempts) write(ctx context.Context, req engine.LineWrite) error {
	req.Key, req.Epoch = a.key, a.line.Epoch
	// what was attempted is recorded, even if ctx ended with the attempt
	line, err := a.o.Lines.WriteLine(context.WithoutCancel(ctx), req)
	if err == nil || errors.Is(err, engine.ErrRefused) {
		a.line = line
	}
	if err == nil && req.Release && req.Due != 0 {
		a.wake(ctx, req.Due)
	}
	return err
}

// wake sends a wake-up for the next attempt. It is a hint: the sweep finds the line, too.
func (a *attempts) wake(ctx context.Context, due int64) {
	delay := max(0, due-a.now())
	if delay > pause.Longest {
		return
	}
	w := engine.Wakeup{Tenant: a.key.Tenant, Thread: a.key.Thread, Endpoint: a.key.Endpoint}
	if err := a.o.Waker.Send(ctx, w, time.Duration(delay)*time.Millisecond); err != nil {
		a.o.Logger.Warn("the wake-up for the next delivery could not be sent; the sweep finds it", "thread", w.Thread, "endpoint", w.Endpoint, "error", err)
	}
}

func (a *attempts) count(event int64, e notice.Entry, s notice.State) {
	last := e.Attempts[len(e.Attempts)-1]
	log := a.o.Logger.With("thread", a.key.Thread, "endpoint", a.key.Endpoint, "event", event, "attempt", e.Tries)
	switch s {
	case notice.StateDelivered:
		a.Delivered++
		log.Debug("delivered", "status", last.Status)
	case notice.StateDead:
		a.Buried++
		log.Warn("a notice could not be delivered and is a dead letter", "status", last.Status, "error", last.Error)
	default:
		a.Failed++
		log.Info("an attempt to deliver a notice failed", "status", last.Status, "error", last.Error, "next", time.UnixMilli(e.NotBefore).UTC())
	}
}

// jitter is in [0, 1).
func (a *attempts) jitter() float64 {
	n := 0
	for _, c := range a.o.Random.Text(4) { // base 32
		digit := int(c - 'a')
		if c < 'a' {
			digit = int(c-'2') + 26
		}
		n = n*32 + digit
	}
	return float64(n) / (32 * 32 * 32 * 32)
}
