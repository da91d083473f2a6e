package awsenv

import (
	"context"
	"fmt"
	"io"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

// Front has the parts of the functions that serve callers.
type Front struct {
	parts
	Frontend *frontend.Frontend
	Webhooks *webhooks.Desk
}

// NewFront assembles the parts. These functions describe and check agents and run nothing, so there
// are no models and no tool bodies. Log lines and metrics go to out. It makes no network request.
func NewFront(s Settings, register Register, out io.Writer) (Front, error) {
	if s.Access.Auth == "" {
		return Front{}, fmt.Errorf("DORMOUSE_AUTH is missing; set it to JWT or IAM, to match the authorizer of the function")
	}
	p, err := open(s, register, nil, out)
	if err != nil {
		return Front{}, err
	}
	desk := webhooks.New(webhooks.Options{Store: p.Store, Deliveries: p.Store, Waker: p.Waker, Clock: p.Clock, Random: p.Random})
	return Front{parts: p, Frontend: p.countedFrontend(), Webhooks: desk}, nil
}

// Watched returns what is called when a reader is sent to a stream; nil where there is no live
// text.
func (f Front) Watched() func(ctx context.Context, tenant, id string) {
	if f.Live == nil {
		return nil
	}
	return f.Live.Marker(f.Store.MarkWatched)
}

// NewFrontend does not watch the table: a held read polls it. The function that streams reads live
// text.
func (p parts) NewFrontend() *frontend.Frontend { return p.frontendOn(p.Store) }

// countedFrontend counts the runs that it starts.
func (p parts) countedFrontend() *frontend.Frontend {
	return p.frontendOn(countedStarts{p.Store, p.Metrics, p.Logger})
}

func (p parts) frontendOn(store frontend.Store) *frontend.Frontend {
	var live frontend.Live
	if p.Live != nil && p.Access.Stream {
		live = p.Live
	}
	return frontend.New(frontend.Options{Live: live, Store: store, Links: p.Store, Catalog: p.Agents.Catalog(), Waker: p.Waker, Clock: p.Clock, Random: p.Random,
		Describe: p.Agents.Describe, Tool: p.Agents.Tool, Check: p.Agents.Check, Accepts: p.Agents.Accepts, Starters: p.Agents.Starters, Narrow: p.Agents.Narrow,
		DayBudget: p.Agents.DayBudget, TenantDay: p.tenantDay, Asking: p.asking})
}

// LinkKeys returns the keys that sign approval links and stream tickets, which are the same in
// every function of the stack. The first call creates them. It reads the table, and returns
// [engine.ErrUnavailable] if that fails.
func (f Front) LinkKeys(ctx context.Context) (access.LinkKeys, error) { return f.Store.LinkKeys(ctx) }
