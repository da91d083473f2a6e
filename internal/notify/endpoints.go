// Package notify sends notices. For each attempt it looks up the endpoint, writes the notice, and
// hands it to the sender of the endpoint's format.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// Targets knows the endpoints.
type Targets interface {
	// Target returns the target of a notice as it is now. [ErrNoTarget] if it is gone,
	// [ErrDisabled] if it is disabled, [ErrNotAsked] if it doesn't ask for this notice; any
	// other error means that it can't be read now.
	Target(ctx context.Context, n delivery.Notice) (notice.Target, error)

	// Disable stops deliveries to the endpoint until an operator enables it, wherever its
	// target comes from.
	Disable(ctx context.Context, k notice.Key, reason string) error
}

// ErrNoTarget reports that an endpoint is gone or, with ErrDisabled, that it is disabled.
// ErrNotAsked reports that it doesn't ask for a notice.
var (
	ErrNoTarget = errors.New("notify: no such endpoint")
	ErrDisabled = fmt.Errorf("%w: it is disabled", ErrNoTarget)
	ErrNotAsked = fmt.Errorf("%w: it doesn't ask for this notice", ErrNoTarget)
)

// Writer writes a notice as its receiver gets it. An error means that it can't be read now.
type Writer interface {
	Notice(ctx context.Context, n delivery.Notice, to notice.Target) (client.Notice, error)
}

// Sender makes one attempt to send a notice in one format. It follows no redirect, and returns soon
// after ctx ends.
type Sender interface {
	Send(ctx context.Context, to notice.Target, n client.Notice) delivery.Result
}

// Poster sends one letter to one address, now: nothing is repeated later.
type Poster interface {
	Post(ctx context.Context, to string, l Letter) delivery.Result
}

// SendCode mails a one-time code. Nil: this program sends none. An error names no address.
func (e *Endpoints) SendCode() func(ctx context.Context, to, code string) error {
	mail, ok := e.Mail.(Poster)
	if !ok {
		return nil
	}
	return CodesBy(mail, e.Random)
}

// CodesBy mails one-time codes. An error names no address, and no code.
func CodesBy(mail Poster, random engine.Random) func(ctx context.Context, to, code string) error {
	return func(ctx context.Context, to, code string) error {
		if sent := mail.Post(ctx, to, CodeLetter(code, random.Text(26))); sent.Outcome != notice.Delivered {
			return errors.New(sent.Error)
		}
		return nil
	}
}

// Endpoints implements [delivery.Endpoints].
type Endpoints struct {
	Targets
	Writer Writer
	URL    map[notice.Format]Sender
	Mail   Sender // nil: this program sends no mail
	Slack  Sender // posts to the channels of targets; nil: this program has no Slack app
	// Sinks are the endpoints that the deployment names, by their ids
	Sinks  map[string]Sender
	Clock  engine.Clock
	Random engine.Random
	Logger *slog.Logger
}

// Send implements [delivery.Endpoints].
func (e *Endpoints) Send(ctx context.Context, n delivery.Notice) delivery.Result {
	to, err := e.target(ctx, n)
	switch {
	case errors.Is(err, ErrDisabled):
		return delivery.Result{Outcome: notice.Hopeless, Error: "the endpoint is disabled"}
	case errors.Is(err, ErrNotAsked):
		return delivery.Result{Outcome: notice.Hopeless, Error: "the endpoint doesn't ask for this notice"}
	case errors.Is(err, ErrNoTarget):
		return delivery.Result{Outcome: notice.Hopeless, Error: "the endpoint was removed"}
	case err != nil:
		return e.later("the endpoint could not be looked up", n, err)
	}
	sender, err := e.sender(n.Endpoint, to)
	if err != nil {
		return delivery.Result{Outcome: notice.Refused, Error: err.Error()}
	}
	if kind, asked := to.Wanted().Of(n.Event); asked && notice.OfTenant(n.Endpoint) {
		n.Kind = kind // the webhook may have been damaged when the notice was queued
	}
	body, err := e.Writer.Notice(ctx, n, to)
	if err != nil {
		return e.later("the run could not be read", n, err)
	}
	return sender.Send(ctx, to, body)
}

// target finds the target of a line. A sink needs no more than its name.
func (e *Endpoints) target(ctx context.Context, n delivery.Notice) (notice.Target, error) {
	switch {
	case !notice.OfSink(n.Endpoint):
		return e.Target(ctx, n)
	case e.Sinks[n.Endpoint] == nil:
		return notice.Target{}, ErrNoTarget
	}
	return notice.Target{Name: n.Endpoint}, nil
}

// Test sends a test notice to a webhook, once. The attempt has no error if the receiver accepted
// it.
func (e *Endpoints) Test(ctx context.Context, w notice.Webhook) (notice.Attempt, error) {
	began := e.Clock.Now()
	result := delivery.Result{}
	if sender, err := e.sender(w.ID, w.Target); err != nil {
		result.Error = err.Error()
	} else {
		n := client.Notice{ID: "test_" + e.Random.Text(20), Type: client.NoticeTest, Timestamp: client.Time{Time: began}, Tenant: w.Tenant}
		result = sender.Send(ctx, w.Target, n)
	}
	return notice.Attempt{At: began.UnixMilli(), Took: e.Clock.Now().Sub(began).Milliseconds(), Status: result.Status, Error: result.Error}, nil
}

// sender is what sends to an endpoint. An error is safe to show.
func (e *Endpoints) sender(endpoint string, to notice.Target) (s Sender, err error) {
	if sink := e.Sinks[endpoint]; sink != nil {
		return sink, nil
	}
	format := to.Format
	if format == "" {
		format = notice.FormatStandard
	}
	if s = e.URL[format]; len(to.Mail) > 0 {
		s = e.Mail
	}
	if to.Slack != nil {
		s = e.Slack
	}
	switch {
	case to.Slack != nil && !notice.OfAgent(endpoint):
		return nil, errors.New("only an agent file can name a channel of Slack")
	case to.Slack != nil && s == nil:
		return nil, errors.New("this server can't post to Slack as an app")
	// an author of agents may use each secret, and the names of a tenant's were checked when
	// the webhook was added
	case len(to.Placeholders()) > 0 && notice.OfRun(endpoint):
		return nil, errors.New("a start can't put secrets into a URL or a template")
	case s == nil && len(to.Mail) > 0:
		return nil, errors.New("this server sends no mail; ask its operator to set --smtp and --mail-from, on AWS the parameter NoticeMailFrom")
	case s == nil:
		return nil, errors.New("this server can't send notices in the format " + string(format))
	}
	return s, nil
}

// later is an attempt that was not made, because the store did not answer. What is shown to callers
// has no internals.
func (e *Endpoints) later(what string, n delivery.Notice, err error) delivery.Result {
	e.Logger.Warn("a notice could not be prepared; it is attempted again", "thread", n.Thread, "endpoint", n.Endpoint, "event", n.Event.Seq, "error", err)
	return delivery.Result{Outcome: notice.Refused, Error: what}
}
