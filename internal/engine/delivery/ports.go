// Package delivery delivers notices: it takes the line of a thread and an endpoint, attempts what
// is due, and records what became of each attempt. Nothing of it holds a run.
package delivery

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Lines is what a worker needs of a store of lines. Each write is atomic, and sending it again
// after [engine.ErrUnavailable] has the effect of sending it once.
type Lines interface {
	// ClaimLine makes the caller the worker of the line if [notice.Line.Claimable] holds: it
	// raises epoch, sets lease, claim and due, and returns the line as it is then. A repeat of
	// a claim that was granted returns the line as it is. [engine.ErrRefused] if the condition
	// does not hold or there is no such line.
	ClaimLine(ctx context.Context, req engine.LineClaim) (notice.Line, error)

	// WriteLine changes one entry, and may give the claim up. It returns the line as it is
	// then, with the entries that were added meanwhile. [engine.ErrFenced] if the epoch
	// differs; [engine.ErrRefused], with the line, if entries were added since
	// [engine.LineWrite.Adds], or the entry is [engine.LineWrite.Gone]. Then nothing but the
	// record was written.
	WriteLine(ctx context.Context, req engine.LineWrite) (notice.Line, error)
}

// Journal holds the events that notices are about.
type Journal interface {
	// Segments reads from..to, in order, consistently.
	Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error)
}

// Notice is one notice on its way to an endpoint. Its id is the same at each attempt.
type Notice struct {
	notice.Key
	Kind  notice.Kind
	Event core.Event
	Seq   int64 // the segment that holds the event
	Tries int   // attempts so far
}

// Endpoints send notices.
type Endpoints interface {
	// Send makes one attempt, and returns soon after ctx ends. It sends nothing twice by
	// itself.
	Send(ctx context.Context, n Notice) Result

	// Disable stops deliveries to the endpoint until an operator enables it.
	Disable(ctx context.Context, k notice.Key, reason string) error
}

// Result is what one attempt came to.
type Result struct {
	notice.Outcome
	Status int    // of HTTP; 0: there was no answer
	Error  string // safe to show; empty if it was delivered
}
