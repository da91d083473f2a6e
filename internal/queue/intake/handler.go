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
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Starter starts runs; [frontend.Frontend] implements it. Equal requests with the same key start
// one run.
type Starter interface {
	Start(ctx context.Context, c frontend.Caller, key string, req wire.StartRequest) (frontend.Started, error)
}

// Outcome says what happened to a message.
type Outcome int

const (
	// Started: the run was stored. The message is removed.
	Started Outcome = iota
	// Duplicate: the run already existed, under the same key. The message is removed.
	Duplicate
	// Busy: the run cannot start yet, through no fault of the message or the program. The
	// message is redelivered without a limit, because a thread may be busy for days.
	Busy
	// Failed: an error on our side. The message is redelivered, up to a limit.
	Failed
	// Dead: the message can never start a run. It goes to the dead letters with the reason.
	Dead
)

// Result says what to do with a message.
type Result struct {
	Outcome Outcome
	Run     string        // Started, Duplicate
	After   time.Duration // Busy, Failed: the delay until it is redelivered
	Code    refusal.Code  // Busy, Failed, Dead: the reason
	Detail  string        // likewise, as a sentence that may be shown
}

// Gone reports whether the message leaves the queue because its run exists.
func (f Result) Gone() bool { return f.Outcome == Started || f.Outcome == Duplicate }

// Whole returns the result that keeps a message with several parts whole, if there is one. Usually
// each part is treated separately: a busy part is put back alone, and a dead part goes to the dead
// letters alone. Only a failure on our side keeps the message whole: no part is moved, and all are
// tried again. Parts that have started are recognized by their keys.
func Whole(results []Result) (f Result, stays bool) {
	n := slices.IndexFunc(results, func(f Result) bool { return f.Outcome == Failed })
	if n < 0 {
		return Result{}, false
	}
	return results[n], true
}

// Longer returns the delay of a busy message after so many redeliveries; it grows by a factor of
// four each time.
func Longer(after time.Duration, times int) time.Duration {
	return after << (2 * min(max(times-1, 0), 10))
}

// by names the queue in the journal as the caller that starts a run.
const by = "intake"

// The delay of a redelivery starts at a second and doubles each time.
const (
	firstReturn = time.Second
	lastReturn  = time.Minute
)

// Handler starts the runs that messages request. It is safe for concurrent use.
type Handler struct {
	Starter Starter
	Log     *slog.Logger

	// MaxFailures limits how often one message may fail before it goes to the dead letters.
	MaxFailures int
}

// Decide starts the run that a message requests and says what to do with the message. No content of
// a message makes Decide itself fail. If ctx ends, the message must be redelivered.
func (h *Handler) Decide(ctx context.Context, m Delivery) Result {
	if m.Attempts > h.MaxFailures {
		return Result{Outcome: Dead, Code: CodeLost, Detail: fmt.Sprintf(
			"it was delivered %d times and never settled; find in the log what stopped the program, then retry the message", m.Attempts-1)}
	}
	read, err := Read(m.Body)
	if err != nil {
		return h.result(m, err)
	}
	started, err := h.start(ctx, m.Tenant, read)
	switch {
	case err != nil:
		return h.result(m, err)
	case started.New:
		return Result{Outcome: Started, Run: started.Run.ID}
	}
	return Result{Outcome: Duplicate, Run: started.Run.ID}
}

// start turns a panic into an error, so that a message that causes one costs an attempt instead of
// the process.
func (h *Handler) start(ctx context.Context, tenant string, m Message) (s frontend.Started, err error) {
	defer func() {
		if r := recover(); r != nil {
			h.Log.Error("starting a run from the intake queue panicked", "panic", r, "stack", string(debug.Stack()))
			err = errors.New("starting the run panicked")
		}
	}()
	return h.Starter.Start(ctx, frontend.Caller{Tenant: tenant, By: by, Via: "queue"}, m.IdempotencyKey, m.StartRequest)
}

// result says what an error means. A refusal that says when to retry, a failing store and a thread
// whose run is not done are temporary; every other refusal is final.
func (h *Handler) result(m Delivery, err error) Result {
	var refused *refusal.Error
	switch known := errors.As(err, &refused); {
	case known && (refused.RetryAfter > 0 || refused.Code == refusal.CodeRunOpen || errors.Is(err, engine.ErrUnavailable)):
		return Result{Outcome: Busy, Code: refused.Code, Detail: refused.Detail, After: max(refused.RetryAfter, comeBack(m.Returned))}
	case known:
		return Result{Outcome: Dead, Code: refused.Code, Detail: refused.Detail}
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Result{Outcome: Busy, Code: refusal.CodeUnavailable, Detail: "the store is busy", After: comeBack(m.Returned)}
	case errors.Is(err, engine.ErrNewerSchema):
		return Result{Outcome: Busy, Code: refusal.CodeUnavailable, Detail: "a newer version of the program has written the thread", After: comeBack(m.Returned)}
	}
	h.Log.Error("starting a run from the intake queue failed", "message", m.ID, "attempt", m.Attempts, "error", err)
	if m.Attempts >= h.MaxFailures {
		return Result{Outcome: Dead, Code: CodeInternal, Detail: fmt.Sprintf(
			"starting the run failed %d times with an internal error; see the server's log", m.Attempts)}
	}
	return Result{Outcome: Failed, Code: CodeInternal, Detail: "starting the run failed with an internal error", After: comeBack(m.Returned)}
}

func comeBack(returned int) time.Duration {
	return min(firstReturn<<min(returned, 10), lastReturn)
}
