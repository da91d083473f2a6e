package client

import "context"

// Ops is how the work of a tenant is going. Counts that reading had to stop at are marked.
type Ops struct {
	At      Time     `json:"at"`
	Waiting OpsCount `json:"waiting"` // calls that wait for a person
	Due     OpsCount `json:"due"`     // of these, those whose deadline is in 4 hours or less
	// Since when a run waits; nil if none does.
	OldestSince       *Time       `json:"oldest_since,omitempty"`
	Started           OpsCount    `json:"started"` // runs of the last 24 hours
	Failed            OpsCount    `json:"failed"`  // of these, those that ended in error
	DeadDeliveries    OpsCount    `json:"dead_deliveries"`
	DisabledEndpoints OpsCount    `json:"disabled_endpoints"`
	Hours             []OpsHour   `json:"hours"`   // the last 24, oldest first
	Budgets           []OpsBudget `json:"budgets"` // of today
}

// OpsCount is a number of things.
type OpsCount struct {
	Count   int  `json:"count"`
	AtLeast bool `json:"at_least,omitempty"` // there may be more
}

// OpsHour is what happened in an hour.
type OpsHour struct {
	From    Time `json:"from"`
	Started int  `json:"started"` // runs
	Failed  int  `json:"failed"`  // of these
	Waiting int  `json:"waiting"` // runs that wait since then
	Dead    int  `json:"dead"`    // deliveries that were given up
}

// OpsBudget is what runs that started today cost, of what they may.
type OpsBudget struct {
	Agent    string `json:"agent,omitempty"` // empty: all of the tenant's
	Spent    Cost   `json:"spent"`
	Limit    Cost   `json:"limit"`
	Unpriced int    `json:"unpriced"` // runs whose cost isn't known
}

// Ops reads how the work of the token's tenant is going.
func (c *Client) Ops(ctx context.Context) (Ops, error) { return get[Ops](ctx, c, "/v1/ops", nil) }
