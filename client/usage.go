package client

import (
	"context"
	"net/url"
	"time"
)

// DayUsage is what the runs used that started on one day of UTC.
type DayUsage struct {
	Day string `json:"day"` // the day, such as "2026-11-25"
	// All runs of the tenant.
	RunsUsage
	Agents []AgentUsage `json:"agents"` // the runs of each agent, by name
}

// AgentUsage is what the runs of an agent used.
type AgentUsage struct {
	Agent string `json:"agent"` // the name of the agent
	RunsUsage
}

// RunsUsage is what some runs have used so far.
type RunsUsage struct {
	Runs  int   `json:"runs"`  // the number of runs
	Usage Usage `json:"usage"` // the tokens of all of them
	Cost  Cost  `json:"cost"`  // what those with a known cost have cost
	// The number of runs whose cost isn't known, which Cost doesn't include.
	Unpriced int `json:"unpriced"`
}

// Usage reads what the runs used that started on the day of t in UTC, the open ones as far as they
// are. The zero time is today.
func (c *Client) Usage(ctx context.Context, t time.Time) (DayUsage, error) {
	query := url.Values{}
	if !t.IsZero() {
		query.Set("day", t.UTC().Format(time.DateOnly))
	}
	return get[DayUsage](ctx, c, "/v1/usage", query)
}
