// Package notify sends notices. For each attempt it looks up the endpoint, writes the notice, and
// hands it to the sender of the endpoint's format.
package notify

import (
	"context"
	"errors"
	"log/slog"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// Targets knows the endpoints.
type Targets interface {
	// Target returns the target of a line as it is now. [ErrNoTarget] if it is gone or
	// disabled; any other error means that it can't be read now.
	Target(ctx context.Context, k notice.Key) (notice.Target, error)

	// Disable stops deliveries to the endpoint until an operator enables it, wherever its
	// target comes from.
	Disable(ctx context.Context, k notice.Key, reason string) error
}

// ErrNoTarget reports that an endpoint is gone or disabled.
var ErrNoTarget = errors.New("notify: no such endpoint")

// Writer writes a notice as its receiver gets it. An error means that it can't be read now.
type Writer interface {
	Notice(ctx context.Context, n delivery.Notice, to notice.Target) (client.Notice, error)
}

// Sender makes one attempt to send a notice in one format. It follows no redirect, and returns soon
// after ctx ends.
type Sender interface {
	Send(ctx context.Context, to notice.Target, n client.Notice) delivery.Result
}

// Endpoints implements [delivery.Endpoints].
type Endpoints struct {
	Targets
	Writer Writer
	URL    map[notice.Format]Sender
	Mail   Sender // nil: this program sends no mail
	Logger *slog.Logger
}

// Send implements [delivery.Endpoints].
func (e *Endpoints) Send(ctx context.Context, n delivery.Notice) delivery.Result {
	to, err := e.Target(ctx, n.Key)
	switch {
	case errors.Is(err, ErrNoTarget):
		return delivery.Result{Outcome: notice.Hopeless, Error: "the endpoint was removed or is disabled"}
	case err != nil:
		return e.later("the endpoint could not be looked up", n, err)
	}
	if len(to.Placeholders()) > 0 && !notice.OfAgent(n.Endpoint) {
		return delivery.Result{Outcome: notice.Refused, Error: "only an agent file can put secrets into a URL or a template"}
	}
	sender := e.sender(to)
	if sender == nil {
		return delivery.Result{Outcome: notice.Refused, Error: "this server can't send to endpoints of this kind"}
	}
	body, err := e.Writer.Notice(ctx, n, to)
	if err != nil {
		return e.later("the run could not be read", n, err)
	}
	return sender.Send(ctx, to, body)
}

func (e *Endpoints) sender(to notice.Target) Sender {
	if len(to.Mail) > 0 {
		return e.Mail
	}
	format := to.Format
	if format == "" {
		format = notice.FormatStandard
	}
	return e.URL[format]
}

// later is an attempt that was not made, because the store did not answer. What is shown to callers
// has no internals.
func (e *Endpoints) later(what string, n delivery.Notice, err error) delivery.Result {
	e.Logger.Warn("a notice could not be prepared; it is attempted again", "thread", n.Thread, "endpoint", n.Endpoint, "event", n.Event.Seq, "error", err)
	return delivery.Result{Outcome: notice.Refused, Error: what}
}
