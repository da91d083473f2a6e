// Package webhooks answers callers who manage the endpoints of a tenant: they add, change, test and
// remove webhooks, disable and enable endpoints, and see and redrive deliveries. It delivers
// nothing itself.
package webhooks

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// Most is how many webhooks a tenant may have. Requests at the same moment may exceed it by a few.
const Most = 50

// Options configure a [Desk]. All but Test and Lacks are required.
type Options struct {
	Store      Store
	Deliveries Deliveries
	Waker      engine.Waker
	Clock      engine.Clock
	Random     engine.Random

	// Test sends a signed test notice to a webhook, once, and returns the attempt: its Error is
	// empty if the endpoint accepted the notice. An error means that it could not be sent now.
	// Nil: this server sends no tests.
	Test func(ctx context.Context, w notice.Webhook) (notice.Attempt, error)

	// Lacks says why deliveries to a webhook can't work for now, such as a secret that is not
	// set. Nil: this server doesn't know.
	Lacks func(ctx context.Context, w notice.Webhook) []string
}

// Desk answers callers. It is safe for concurrent use and remembers nothing from one call to the
// next. Every write may be sent again by its caller after an error.
type Desk struct{ o Options }

// New makes a desk.
func New(o Options) *Desk { return &Desk{o} }

func (d *Desk) now() int64 { return d.o.Clock.Now().UnixMilli() }

// call asks the store again while it does not answer.
func call[T any](ctx context.Context, d *Desk, op func() (T, error)) (T, error) {
	return storecall.Try(ctx, d.o.Clock, op)
}

// do is call for an operation without a result.
func do(ctx context.Context, d *Desk, op func() error) error {
	_, err := call(ctx, d, func() (struct{}, error) { return struct{}{}, op() })
	return err
}

// find reads a webhook.
func (d *Desk) find(ctx context.Context, tenant, id string) (notice.Webhook, error) {
	if len(id) > mostID {
		return notice.Webhook{}, webhookNotFound()
	}
	w, err := call(ctx, d, func() (notice.Webhook, error) { return d.o.Store.Webhook(ctx, tenant, id) })
	if errors.Is(err, engine.ErrNotFound) {
		return w, webhookNotFound()
	}
	return w, err
}

// IsAt says whether the webhook is there to which a link was sent, and still sends to the same
// address; see [notice.Target.Address]. A link of an older program doesn't say which address: it
// ends with any change.
func (d *Desk) IsAt(ctx context.Context, l engine.Link) (bool, error) {
	w, err := d.find(ctx, l.Tenant, l.Endpoint)
	if e, ok := errors.AsType[*refusal.Error](err); ok && e.Code == refusal.CodeWebhookNotFound {
		return false, nil
	}
	same := l.Address == w.Address() || l.Address == "" && w.Changed <= l.Made
	return err == nil && same, err
}

// mostID is how many bytes an id may have; a longer one is not ours.
const mostID = 256

func webhookNotFound() error {
	return refusal.New(refusal.CodeWebhookNotFound, "there is no webhook with this id; list the webhooks to find it")
}
