package awsenv

import (
	"context"
	"io"
	"log/slog"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/program/subscribers"
)

// Notify has the parts of the function that delivers notices.
type Notify struct {
	parts
	Frontend *frontend.Frontend // reads what notices are about
	Guard    *netguard.Guard    // decides which addresses webhooks may reach
	// finds the endpoints
	Subscribers *subscribers.Subscribers
	SlackAPI    string // see [Settings]
}

// NewNotify assembles the parts. The function describes agents and runs nothing. Log lines and
// metrics go to out. It makes no network request.
func NewNotify(s Settings, register Register, out io.Writer) (Notify, error) {
	p, err := open(s, register, nil, out)
	if err != nil {
		return Notify{}, err
	}
	guard := netguard.New(netguard.Options{Clock: machine.Clock{}, Private: s.Private})
	return Notify{parts: p, Frontend: p.NewFrontend(), Subscribers: p.subscribers(), Guard: guard, SlackAPI: s.SlackAPI}, nil
}

// LinkKeys returns the keys that sign approval links; see [Front.LinkKeys].
func (n Notify) LinkKeys(ctx context.Context) (access.LinkKeys, error) { return n.Store.LinkKeys(ctx) }

// Deliverer returns a deliverer that writes to the log of one invocation. The deadline of the
// invocation limits its claim. A line whose worker crashed is worked on again within the rest of
// that claim plus two periods of the sweep.
func (n Notify) Deliverer(to delivery.Endpoints, log *slog.Logger) *delivery.Deliverer {
	return delivery.New(delivery.Options{Lines: n.Store, Journal: n.Store, Endpoints: to, Waker: n.Waker, Clock: n.Clock, Random: n.Random, Logger: log,
		Margin: margin, Skew: skew, Grain: grain})
}
