package notice

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Webhook is an endpoint that a tenant has added: it is notified of what happens in the runs of all
// agents, or of some.
type Webhook struct {
	Tenant string `json:"-"`
	ID     string `json:"-"` // of its endpoint; begins with [TenantEndpoint]
	Rev    int64  `json:"-"` // 1 when it is added; each change raises it by one

	// Damaged: the rest of what is stored can't be read. Until it can, its notices are queued
	// for every event of every agent, and wait. [Webhook.Takes] then sorts out the others.
	Damaged bool `json:"-"`

	Target
	Agents []string `json:"agents,omitempty"` // none: all

	// of the request that added it, if that had an idempotency key
	Request string `json:"rq,omitempty"`

	Created   int64  `json:"t"`
	CreatedBy string `json:"by,omitempty"`
	Changed   int64  `json:"ct,omitempty"` // 0: never
	ChangedBy string `json:"cby,omitempty"`
}

// Notified says whether the webhook is notified of runs of an agent. A damaged one may be.
func (w Webhook) Notified(agent string) bool {
	return w.Damaged || len(w.Agents) == 0 || slices.Contains(w.Agents, agent)
}

// Subscription says what the webhook is notified of. For a damaged one that is everything.
func (w Webhook) Subscription() Subscription {
	if w.Damaged {
		return Subscription{Endpoint: w.ID, On: Kinds}
	}
	return Subscription{Endpoint: w.ID, On: w.On}
}

// Takes says whether the webhook asks for a notice of an event in an agent's run, and as which
// kind.
func (w Webhook) Takes(agent string, e core.Event) (Kind, bool) {
	kind, asked := w.On.Of(e)
	return kind, asked && w.Notified(agent)
}

// Disabled says that an endpoint, wherever its target comes from, gets nothing until it is enabled.
// It is kept apart from the target, so that a change of one never undoes the other.
type Disabled struct {
	Tenant   string `json:"-"`
	Endpoint string `json:"-"`
	At       int64  `json:"t"`
	Reason   string `json:"why"`          // safe to show
	By       string `json:"by,omitempty"` // empty: an answer of the endpoint did it
}

// DamagedMark replaces a mark that can't be read: the endpoint is disabled, and why is not known.
func DamagedMark(tenant, endpoint string) Disabled {
	return Disabled{Tenant: tenant, Endpoint: endpoint, Reason: "the stored reason can't be read; enable the endpoint to delete it"}
}

// Gone is when a store may forget that an endpoint is disabled; 0 for never. That of a run is of no
// use when the run is over.
func (d Disabled) Gone() int64 {
	if !OfRun(d.Endpoint) && !OfPush(d.Endpoint) {
		return 0
	}
	return d.At + keptOfRun
}

// keptOfRun is how long, in ms, an endpoint of a run stays disabled.
const keptOfRun = 90 * 24 * 60 * 60_000
