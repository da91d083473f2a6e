package awsenv

import (
	"context"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/program/subscribers"
)

// subscribers finds who is notified of runs, beside sinks.
func (p parts) subscribers() *subscribers.Subscribers {
	return subscribers.New(subscribers.Options{Definitions: p.Agents.Catalog(), Runs: p.Store, Webhooks: p.Store, Pushes: p.Store, Clock: p.Clock, Stale: subscribers.Stale})
}

// withSinks adds the sinks of the stack, which get notices of every run but those that test a
// version.
type withSinks struct {
	engine.Subscribers
	sinks []notice.Subscription
}

// Of implements [engine.Subscribers].
func (s withSinks) Of(ctx context.Context, h core.Head) ([]notice.Subscription, error) {
	found, err := s.Subscribers.Of(ctx, h)
	if h.Tenant == stack.PreTrafficTenant {
		return found, err
	}
	return slices.Concat(found, s.sinks), err
}
