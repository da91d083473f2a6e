package client

import (
	"context"
	"net/url"
	"time"
)

// DayUsage is what the runs used that started on one day of UTC.
type DayUsage struct {
	// The day, such as "2026-11-25".
	Day string `json:"day"`
	// All runs of the tenant.
	RunsUsage
	// The runs of each agent, by name.
	Agents []AgentUsage `json:"agents"`
}

// AgentUsage is what the runs of an agent used.
type AgentUsage struct {
	// The name of the agent.
	Agent string `json:"agent"`
	RunsUsage
}

// RunsUsage is what some runs have used so far.
type RunsUsage struct {
	// The number of runs.
	Runs int `json:"runs"`
	// The tokens of all of them.
	Usage Usage `json:"usage"`
	// What those with a known cost have cost.
	Cost Cost `json:"cost"`
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
