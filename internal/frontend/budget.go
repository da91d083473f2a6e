package frontend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/spending"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// inBudget refuses a start once the runs that started today have cost what the agent, or the
// tenant, may spend in a day. A cost that is not known refuses it too: the budget could not be
// kept. Runs that are open go on, so a day may cost more by what they still use.
func (f *Frontend) inBudget(ctx context.Context, c Caller, def engine.Definition) error {
	if def.Name == ask.Agent { // which costs nothing
		return nil
	}
	var agent core.USD
	if f.dayBudget != nil {
		var err error
		if agent, err = storecall.Try(ctx, f.Clock, func() (core.USD, error) { return f.dayBudget(ctx, def) }); err != nil {
			return err
		}
	}
	if agent == 0 && f.tenantDay == 0 {
		return nil
	}
	now := f.Clock.Now()
	day, err := f.today.Read(ctx, c.Tenant, now)
	if err != nil {
		return err
	}
	if err := overDay("agent "+def.Name, agent, day[def.Name], now); err != nil {
		return err
	}
	return overDay(fmt.Sprintf("tenant %q", c.Tenant), f.tenantDay, day.All(), now)
}

// pages is a store that is asked again for a page of runs, and not for those before it.
type pages struct {
	Store
	clock engine.Clock
}

func (p pages) Runs(ctx context.Context, tenant, thread, cursor string, limit int) (records []core.Record, next string, err error) {
	records, err = storecall.Try(ctx, p.clock, func() ([]core.Record, error) {
		var err error
		records, next, err = p.Store.Runs(ctx, tenant, thread, cursor, limit)
		return records, err
	})
	return records, next, err
}

func overDay(whose string, most core.USD, spent spending.Sum, now time.Time) error {
	var why string
	switch {
	case most == 0:
		return nil
	case spent.Cost >= most:
		why = fmt.Sprintf("the runs of %s that started today cost $%s, and the budget of a day is $%s", whose, spent.Cost, most)
	case spent.Unpriced > 0:
		why = fmt.Sprintf("the cost of %d of today's runs of %s is not known, so the budget of $%s a day can't be kept", spent.Unpriced, whose, most)
	default:
		return nil
	}
	e := refusal.New(refusal.CodeBudgetExceeded, "%s; nothing was stored. Start it after midnight UTC, or ask the operator or the agent's author to raise the budget", why)
	e.RetryAfter = spending.Midnight(now).Add(24 * time.Hour).Sub(now)
	return e
}

// Budgets are today's budgets of the caller's tenant and its agents, and what of them is spent.
// Without any, no run is read.
func (f *Frontend) Budgets(ctx context.Context, c Caller) ([]wire.OpsBudget, error) {
	limits := map[string]core.USD{"": f.tenantDay}
	if f.dayBudget != nil {
		defs, err := storecall.Try(ctx, f.Clock, func() ([]engine.Definition, error) { return f.Catalog.Deployed(ctx, c.Tenant) })
		if err != nil {
			return nil, err
		}
		for _, def := range defs {
			if limits[def.Name], err = storecall.TryEntry(ctx, f.Clock, func() (core.USD, error) { return f.dayBudget(ctx, def) }); err != nil {
				return nil, err
			}
		}
	}
	maps.DeleteFunc(limits, func(_ string, most core.USD) bool { return most == 0 })
	budgets := []wire.OpsBudget{}
	if len(limits) == 0 {
		return budgets, nil
	}
	day, err := f.today.Read(ctx, c.Tenant, f.Clock.Now())
	for _, agent := range slices.Sorted(maps.Keys(limits)) {
		spent := day[agent]
		if agent == "" {
			spent = day.All()
		}
		budgets = append(budgets, wire.OpsBudget{Agent: agent, Spent: wire.Cost{USD: spent.Cost.String()}, Limit: wire.Cost{USD: limits[agent].String()}, Unpriced: spent.Unpriced})
	}
	return budgets, err
}

// Usage is what the runs used that the caller's tenant started on a day of UTC, such as 2026-11-25;
// empty is today.
func (f *Frontend) Usage(ctx context.Context, c Caller, date string) (wire.DayUsage, error) {
	midnight := spending.Midnight(f.Clock.Now())
	if date != "" {
		var err error
		if midnight, err = time.Parse(time.DateOnly, date); err != nil {
			return wire.DayUsage{}, refusal.New(refusal.CodeInvalid, "day must be a date such as %s", spending.Midnight(f.Clock.Now()).Format(time.DateOnly))
		}
	}
	day, err := spending.Read(ctx, pages{f.Store, f.Clock}, c.Tenant, midnight)
	if err != nil {
		return wire.DayUsage{}, err
	}
	return shownDay(midnight, day), nil
}

func shownDay(midnight time.Time, day spending.Day) wire.DayUsage {
	shown := wire.DayUsage{Day: midnight.Format(time.DateOnly), RunsUsage: shownSum(day.All()), Agents: []wire.AgentUsage{}}
	for _, name := range day.Agents() {
		shown.Agents = append(shown.Agents, wire.AgentUsage{Agent: name, RunsUsage: shownSum(day[name])})
	}
	return shown
}

func shownSum(s spending.Sum) wire.RunsUsage {
	return wire.RunsUsage{Runs: s.Runs, Usage: wire.Usage{InputTokens: s.Input, OutputTokens: s.Output}, Cost: wire.Cost{USD: s.Cost.String()}, Unpriced: s.Unpriced}
}
