package notice

import "slices"

// Webhook is an endpoint that a tenant has added: it is notified of what happens in the runs of all
// agents, or of some.
type Webhook struct {
	Tenant string `json:"-"`
	ID     string `json:"-"` // of its endpoint; begins with [TenantEndpoint]
	Rev    int64  `json:"-"` // 1 when it is added; each change raises it by one

	Target
	Agents []string `json:"agents,omitempty"` // none: all

	// of the request that added it, if that had an idempotency key
	Request string `json:"rq,omitempty"`

	Created   int64  `json:"t"`
	CreatedBy string `json:"by,omitempty"`
	Changed   int64  `json:"ct,omitempty"` // 0: never
	ChangedBy string `json:"cby,omitempty"`
}

// Notified says whether the webhook is notified of runs of an agent.
func (w Webhook) Notified(agent string) bool {
	return len(w.Agents) == 0 || slices.Contains(w.Agents, agent)
}

// Subscription says what the webhook is notified of.
func (w Webhook) Subscription() Subscription { return Subscription{Endpoint: w.ID, On: w.On} }

// Disabled says that an endpoint, wherever its target comes from, gets nothing until it is enabled.
// It is kept apart from the target, so that a change of one never undoes the other.
type Disabled struct {
	Tenant   string `json:"-"`
	Endpoint string `json:"-"`
	At       int64  `json:"t"`
	Reason   string `json:"why"`          // safe to show
	By       string `json:"by,omitempty"` // empty: an answer of the endpoint did it
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
