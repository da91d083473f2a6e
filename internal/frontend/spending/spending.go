// Package spending sums what the runs of a tenant cost, by the day of UTC on which they started and
// by agent. It keeps no counters: the sums follow from the runs, so that nothing is counted twice
// or lost, and no write is added to a run.
package spending

import (
	"context"
	"maps"
	"slices"
	"sync"
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

func (s Sum) plus(r core.Record) Sum {
	s.Runs++
	s.Input, s.Output = s.Input+r.InputTokens, s.Output+r.OutputTokens
	switch {
	case r.Priced:
		s.Cost = s.Cost.Plus(core.USD(r.Cost))
	case r.Step > 0 || r.InputTokens > 0 || r.OutputTokens > 0:
		s.Unpriced++
	}
	return s
}

// Day is the sums of a day, by agent.
type Day map[string]Sum

// All is the sum over all agents.
func (d Day) All() (all Sum) {
	for _, s := range d {
		all.Runs, all.Unpriced = all.Runs+s.Runs, all.Unpriced+s.Unpriced
		all.Input, all.Output, all.Cost = all.Input+s.Input, all.Output+s.Output, all.Cost.Plus(s.Cost)
	}
	return all
}

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
		day[r.Agent] = day[r.Agent].plus(r)
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
	cursor := runs.RunsBehind(midnight.Add(24*time.Hour).UnixMilli(), "")
	for {
		records, next, err := runs.Runs(ctx, tenant, "", cursor, page)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if !last.before(r) {
				return found, nil
			}
			found = append(found, r)
		}
		if next == "" {
			return found, nil
		}
		cursor = next
	}
}

// Today keeps the sums of today, so that asking again reads only what may have changed: the runs
// since the oldest that was not done. It is safe for concurrent use.
type Today struct {
	Runs Runs

	mu      sync.Mutex
	tenants map[string]*today
}

// today is what is known of a tenant's day.
type today struct {
	mu       sync.Mutex
	midnight time.Time
	final    Day   // of the runs up to last, which are done
	last     place // the newest of them
	all      Day   // of all runs
	read     time.Time
}

const (
	// fresh is how long a sum counts as that of now
	fresh = 2 * time.Second
	// settled is how old a run is before nothing older can turn up: by so much clocks may
	// differ and an index may be late
	settled = 2 * time.Minute
)

// Read sums the runs that the tenant started today.
func (t *Today) Read(ctx context.Context, tenant string, now time.Time) (Day, error) {
	d := t.of(tenant)
	d.mu.Lock()
	defer d.mu.Unlock()
	if midnight := Midnight(now); !midnight.Equal(d.midnight) {
		d.midnight, d.final, d.last, d.read = midnight, Day{}, place{at: midnight.UnixMilli()}, time.Time{}
	}
	if now.Sub(d.read) < fresh {
		return d.all, nil
	}
	found, err := since(ctx, t.Runs, tenant, d.midnight, d.last)
	if err != nil {
		return nil, err
	}
	d.fold(found, now)
	return d.all, nil
}

// fold adds the runs behind last, newest first.
func (d *today) fold(found []core.Record, now time.Time) {
	final := true
	d.all, d.read = maps.Clone(d.final), now
	for i := range found {
		r := found[len(found)-1-i]
		d.all[r.Agent] = d.all[r.Agent].plus(r)
		if final = final && r.Status == core.RunDone && r.Born < now.Add(-settled).UnixMilli(); final {
			d.final[r.Agent] = d.final[r.Agent].plus(r)
			d.last = place{r.Born, r.Run}
		}
	}
}

func (t *Today) of(tenant string) *today {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tenants == nil {
		t.tenants = map[string]*today{}
	}
	if t.tenants[tenant] == nil {
		t.tenants[tenant] = &today{}
	}
	return t.tenants[tenant]
}
