// Package spending sums what the runs of a tenant cost, by the day of UTC on which they started and
// by agent. It keeps no counters: the sums follow from the runs, so that nothing is counted twice
// or lost, and no write is added to a run.
package spending

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Runs lists the runs of a tenant, newest first, as a frontend's store does.
type Runs interface {
	Runs(ctx context.Context, tenant, thread, cursor string, limit int) (records []core.Record, next string, err error)
	RunsBehind(born int64, run string) (cursor string)
}

// Sum is what some runs used.
type Sum struct {
	Runs     int
	Unpriced int // of them, those that called a model at a cost that is not known
	Input    int64
	Output   int64
	Cost     core.USD // of the others
}

// of is what one run used.
func of(r core.Record) Sum {
	s := Sum{Runs: 1, Input: r.InputTokens, Output: r.OutputTokens}
	switch {
	case r.Priced:
		s.Cost = core.USD(r.Cost)
	case r.Step > 0 || r.InputTokens > 0 || r.OutputTokens > 0:
		s.Unpriced = 1
	}
	return s
}

func (s Sum) plus(o Sum) Sum {
	return Sum{s.Runs + o.Runs, s.Unpriced + o.Unpriced, s.Input + o.Input, s.Output + o.Output, s.Cost.Plus(o.Cost)}
}

// Day is the sums of a day, by agent.
type Day map[string]Sum

// All is the sum over all agents.
func (d Day) All() (all Sum) {
	for _, s := range d {
		all = all.plus(s)
	}
	return all
}

func (d Day) add(agent string, used Sum) { d[agent] = d[agent].plus(used) }

// Agents are the names of the agents that have runs, in order.
func (d Day) Agents() []string { return slices.Sorted(maps.Keys(d)) }

// Midnight is when the day of UTC began.
func Midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// page is how many runs are read at once.
const page = 100

// Read sums the runs that started on the day that began at midnight.
func Read(ctx context.Context, runs Runs, tenant string, midnight time.Time) (Day, error) {
	found, err := since(ctx, runs, tenant, midnight, place{at: midnight.UnixMilli()})
	day := Day{}
	for _, r := range found {
		day.add(r.Agent, of(r))
	}
	return day, err
}

// place is where a run is in the list of a tenant's runs.
type place struct {
	at  int64
	run string
}

func (p place) before(r core.Record) bool { return r.Born > p.at || r.Born == p.at && r.Run > p.run }

// since are the runs of the day behind which last comes, newest first.
func since(ctx context.Context, runs Runs, tenant string, midnight time.Time, last place) (found []core.Record, err error) {
	err = walk(ctx, runs, tenant, midnight.Add(24*time.Hour).UnixMilli(), page, func(r core.Record) bool {
		if last.before(r) {
			found = append(found, r)
			return true
		}
		return false
	})
	return found, err
}

// walk visits the runs that were born before a time, newest first, as long as visit returns true.
func walk(ctx context.Context, runs Runs, tenant string, before int64, limit int, visit func(core.Record) (goOn bool)) error {
	cursor := runs.RunsBehind(before, "")
	for {
		records, next, err := runs.Runs(ctx, tenant, "", cursor, limit)
		if err != nil {
			return err
		}
		for _, r := range records {
			if !visit(r) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}
