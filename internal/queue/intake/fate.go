package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// Starter starts runs: [frontend.Frontend]. The same key with the same request starts one run.
type Starter interface {
	Start(ctx context.Context, c frontend.Caller, key string, req wire.StartRequest) (frontend.Started, error)
}

// Outcome is what became of a message.
type Outcome int

const (
	// Started: its run was stored. The message may go.
	Started Outcome = iota
	// Known: its run had been there before, under the same key. The message may go.
	Known
	// Busy: it could not be started now, by nobody's fault. It comes again, as often as it
	// takes: a thread may be busy for days.
	Busy
	// Failed: something of ours is broken. It comes again, but not for ever.
	Failed
	// Dead: it can never be started as it is. It is put aside with the reason.
	Dead
)

// Fate is what is to become of a message.
type Fate struct {
	Outcome Outcome
	Run     string        // Started, Known
	After   time.Duration // Busy, Failed: when it comes again
	Code    frontend.Code // Busy, Failed, Dead: why
	Detail  string        // likewise, in words that may be shown
}

// Gone says whether the message leaves the queue because its run is there.
func (f Fate) Gone() bool { return f.Outcome == Started || f.Outcome == Known }

// Whole is the fate of a message that has to stay whole, if there is such a one among the fates of
// its parts. Each part has a fate of its own: what is busy is put back alone, and what can never be
// started is put aside alone. Only a failure of ours keeps the message whole: no part is moved
// then, and all are tried again. Those that were started are known by their keys.
func Whole(fates []Fate) (f Fate, stays bool) {
	n := slices.IndexFunc(fates, func(f Fate) bool { return f.Outcome == Failed })
	if n < 0 {
		return Fate{}, false
	}
	return fates[n], true
}

// Longer is how long a busy message waits that was handed over so often: four times as long each
// time.
func Longer(after time.Duration, times int) time.Duration {
	return after << (2 * min(max(times-1, 0), 10))
}

// by is who starts the runs of the queue, for the journal.
const by = "intake"

// A message that comes again does so after a second, then after twice as long each time.
const (
	firstReturn = time.Second
	lastReturn  = time.Minute
)

// Desk starts what messages ask for. It is safe for concurrent use.
type Desk struct {
	Starter Starter
	Log     *slog.Logger

	// MaxFailures is how often one message may fail before it is put aside.
	MaxFailures int
}

// Decide starts what a message asks for and says what is to become of it. Nothing in it makes
// Decide itself fail. If ctx ends, the message has to come again.
func (d *Desk) Decide(ctx context.Context, m Delivery) Fate {
	if m.Attempts > d.MaxFailures {
		return Fate{Outcome: Dead, Code: CodeLost, Detail: fmt.Sprintf(
			"it was handed over %d times and nobody said what came of it; look into the log for what stopped the program, then try it again", m.Attempts-1)}
	}
	read, err := Read(m.Body)
	if err != nil {
		return d.fate(m, err)
	}
	started, err := d.start(ctx, m.Tenant, read)
	switch {
	case err != nil:
		return d.fate(m, err)
	case started.New:
		return Fate{Outcome: Started, Run: started.Run.ID}
	}
	return Fate{Outcome: Known, Run: started.Run.ID}
}

// start turns a panic into an error, so that one message costs itself an attempt and not the
// process.
func (d *Desk) start(ctx context.Context, tenant string, m Message) (s frontend.Started, err error) {
	defer func() {
		if r := recover(); r != nil {
			d.Log.Error("starting a run from the intake queue panicked", "panic", r, "stack", string(debug.Stack()))
			err = errors.New("starting the run panicked")
		}
	}()
	return d.Starter.Start(ctx, frontend.Caller{Tenant: tenant, By: by, Via: "queue"}, m.IdempotencyKey, m.StartRequest)
}

// fate says what an error means. A refusal with a time to come back, a store that fails, and a
// thread whose run is not done, pass; every other refusal would be the same for ever.
func (d *Desk) fate(m Delivery, err error) Fate {
	var refused *frontend.Error
	switch known := errors.As(err, &refused); {
	case known && (refused.RetryAfter > 0 || refused.Code == frontend.CodeRunOpen || errors.Is(err, engine.ErrUnavailable)):
		return Fate{Outcome: Busy, Code: refused.Code, Detail: refused.Detail, After: max(refused.RetryAfter, comeBack(m.Returned))}
	case known:
		return Fate{Outcome: Dead, Code: refused.Code, Detail: refused.Detail}
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Fate{Outcome: Busy, Code: frontend.CodeUnavailable, Detail: "the store is busy", After: comeBack(m.Returned)}
	case errors.Is(err, engine.ErrNewerSchema):
		return Fate{Outcome: Busy, Code: frontend.CodeUnavailable, Detail: "a newer version has written the thread", After: comeBack(m.Returned)}
	}
	d.Log.Error("starting a run from the intake queue failed", "message", m.ID, "attempt", m.Attempts, "error", err)
	if m.Attempts >= d.MaxFailures {
		return Fate{Outcome: Dead, Code: CodeInternal, Detail: fmt.Sprintf(
			"starting the run failed on our side %d times; the server's log says how", m.Attempts)}
	}
	return Fate{Outcome: Failed, Code: CodeInternal, Detail: "starting the run failed on our side", After: comeBack(m.Returned)}
}

func comeBack(returned int) time.Duration {
	return min(firstReturn<<min(returned, 10), lastReturn)
}
