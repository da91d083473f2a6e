package notify

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// WriterOptions are what a writer needs. Frontend is required.
type WriterOptions struct {
	Frontend *frontend.Frontend
	Links    Links // the zero value makes none
	Logger   *slog.Logger
}

// writer implements [Writer]. It shows what the API shows, and nothing more.
type writer struct {
	reads  *query.Reader
	links  *linker
	logger *slog.Logger
}

// NewWriter returns a writer that reads what the API reads.
func NewWriter(o WriterOptions) Writer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &writer{reads: query.New(o.Frontend), links: newLinker(o.Frontend, o.Links), logger: o.Logger}
}

// Notice implements [Writer]. What was deleted or can't be read is left out, so that a notice is
// never held up by it; an error means that the store does not answer now.
func (w *writer) Notice(ctx context.Context, n delivery.Notice, to notice.Target) (client.Notice, error) {
	c := frontend.Caller{Tenant: n.Tenant}
	out := client.Notice{ID: NoticeID(n), Type: string(n.Kind), Timestamp: wire.Millis(n.Event.At), Tenant: n.Tenant}
	for _, read := range []func() error{
		func() error { return w.event(ctx, c, n, &out) },
		func() error { return w.approval(ctx, c, n, &out) },
		func() error { return w.run(ctx, c, n, &out) },
		func() (err error) { out.Links, err = w.links.of(ctx, c, n, to, out.Approval); return err },
	} {
		if err := w.left(n, &out, read()); err != nil {
			return out, err
		}
	}
	shorten(&out, most(n.Endpoint))
	return out, nil
}

// NoticeID is the id of a notice, which is the same at each attempt and for each endpoint.
func NoticeID(n delivery.Notice) string {
	return n.Event.RunID + ":" + strconv.FormatInt(n.Event.Seq, 10)
}

// event shows the event, as far as the deliverer has read it if the journal can't be read any more.
func (w *writer) event(ctx context.Context, c frontend.Caller, n delivery.Notice, out *client.Notice) (err error) {
	out.Event, err = w.reads.EventAt(ctx, c, n.Thread, n.Seq, n.Event.Seq)
	switch {
	case errors.Is(err, engine.ErrUnreadable), errors.Is(err, engine.ErrDamaged), errors.Is(err, engine.ErrNotFound):
		out.Event, err = query.EventOf(n.Event), nil
	}
	return err
}

func (w *writer) approval(ctx context.Context, c frontend.Caller, n delivery.Notice, out *client.Notice) (err error) {
	sus := SuspensionOf(n.Event.Data)
	if sus == "" || !n.Kind.Asks() {
		return nil
	}
	out.Approval, _, err = w.reads.Suspension(ctx, c, sus)
	return err
}

// SuspensionOf is the id of the suspension that an event is about; "" if it is about none. The data
// of call.suspended has the suspension itself, other events name its id.
func SuspensionOf(data json.RawMessage) string {
	var of struct {
		Suspension json.RawMessage `json:"suspension"`
	}
	var whole struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(data, &of) != nil {
		return ""
	}
	if json.Unmarshal(of.Suspension, &whole) != nil {
		_ = json.Unmarshal(of.Suspension, &whole.ID)
	}
	return whole.ID
}

func (w *writer) run(ctx context.Context, c frontend.Caller, n delivery.Notice, out *client.Notice) error {
	read := w.reads.Run
	if n.Kind == notice.Done || n.Kind == notice.Failed {
		read = w.reads.AtEnd
	}
	run, err := read(ctx, c, n.Event.RunID)
	for err == nil && run.Parent != nil && notice.OfPush(n.Endpoint) { // the task is the root
		run, err = w.reads.Run(ctx, c, run.Parent.RunID)
	}
	if err == nil {
		out.Run = &run
	}
	return err
}

// left decides on what could not be read: nil if the notice goes out without it.
func (w *writer) left(n delivery.Notice, out *client.Notice, err error) error {
	refused, known := errors.AsType[*refusal.Error](err)
	switch {
	case err == nil, errors.Is(err, engine.ErrNotFound), known && missing(refused.Code):
		return nil
	case errors.Is(err, engine.ErrUnreadable), errors.Is(err, engine.ErrDamaged):
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrNewerSchema), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	w.logger.Warn("a notice is sent without what can't be read", "thread", n.Thread, "endpoint", n.Endpoint, "event", n.Event.Seq, "error", err)
	out.Error = &client.RunError{Code: string(refusal.CodeUnreadable), Detail: "the server can't read all of this run's stored data now; read the run later"}
	return nil
}

// missing are the refusals of a run, thread or call that does not exist any more.
func missing(code refusal.Code) bool {
	return code == refusal.CodeRunNotFound || code == refusal.CodeThreadNotFound || code == refusal.CodeCallNotFound
}
