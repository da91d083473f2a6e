package frontend_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// priced is a store whose runs have used this.
type priced struct {
	frontend.Store
	used *core.Counters
}

func (s priced) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	records, next, err := s.Store.Runs(ctx, tenant, thread, cursor, limit)
	for i := range records {
		records[i].Counters = *s.used
	}
	return records, next, err
}

// spending is a fixture whose runs have all used this.
func spending(t *testing.T, agent, tenant core.USD, used *core.Counters) *fixture {
	return newFixtureOver(t, func(s frontend.Store) frontend.Store { return priced{s, used} }, func(o *frontend.Options) {
		o.DayBudget = func(context.Context, engine.Definition) (core.USD, error) { return agent, nil }
		o.TenantDay = tenant
	})
}

func TestNothingStartsBeyondTheBudgetOfADay(t *testing.T) {
	for name, tt := range map[string]struct {
		agent, tenant core.USD
		used          core.Counters
		says          string
	}{
		"the agent's":               {500_000, 0, core.Counters{Step: 1, Cost: 500_000, Priced: true}, `runs of agent desk that started today cost $0.50, and the budget of a day is $0.50`},
		"the tenant's":              {0, 400_000, core.Counters{Step: 1, Cost: 500_000, Priced: true}, `runs of tenant "default" that started today cost $0.50`},
		"a cost that is not known":  {500_000, 0, core.Counters{Step: 1}, `the cost of 1 of today's runs of agent desk is not known`},
		"less than the budget":      {500_001, 500_001, core.Counters{Step: 1, Cost: 500_000, Priced: true}, ""},
		"a run that used nothing":   {1, 1, core.Counters{}, ""},
		"no budget, unknown prices": {0, 0, core.Counters{Step: 9}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := spending(t, tt.agent, tt.tenant, &tt.used)
			first, err := x.send("k1", "first")
			if err != nil {
				t.Fatal(err)
			}
			x.clock.AfterFunc(10*time.Second, func() {})
			_, err = x.send("k2", "second")
			if tt.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e := x.wantCode(err, refusal.CodeBudgetExceeded)
			tomorrow := x.clock.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
			if !strings.Contains(e.Detail, tt.says) || x.clock.Now().Add(e.RetryAfter) != tomorrow {
				t.Errorf("refused with %q, again after %v", e.Detail, e.RetryAfter)
			}
			if again, err := x.send("k1", "first"); err != nil || again.Run.ID != first.Run.ID {
				t.Errorf("a repeat of what was stored: %+v, %v", again, err)
			}
			x.clock.AfterFunc(e.RetryAfter, func() {})
			if _, err := x.send("k2", "second"); err != nil {
				t.Errorf("the next day: %v", err)
			}
		})
	}
}

func TestWhatADayUsedIsShownByAgent(t *testing.T) {
	x := spending(t, 0, 0, &core.Counters{Step: 1, InputTokens: 60, OutputTokens: 40, Cost: 12_300, Priced: true})
	x.start()
	x.start()
	day := x.clock.Now().UTC().Format(time.DateOnly)
	sum := wire.RunsUsage{Runs: 2, Usage: wire.Usage{InputTokens: 120, OutputTokens: 80}, Cost: wire.Cost{USD: "0.0246"}}
	for _, date := range []string{"", day} {
		got, err := x.Usage(t.Context(), anna, date)
		if err != nil || got.Day != day || got.RunsUsage != sum || len(got.Agents) != 1 || got.Agents[0] != (wire.AgentUsage{Agent: "desk", RunsUsage: sum}) {
			t.Errorf("%q used %+v, %v", date, got, err)
		}
	}
	if got, err := x.Usage(t.Context(), frontend.Caller{Tenant: "zoo"}, ""); err != nil || got.Runs != 0 || got.Cost.USD != "0.00" {
		t.Errorf("another tenant used %+v, %v", got, err)
	}
	if got, err := x.Usage(t.Context(), anna, "2020-01-01"); err != nil || got.Runs != 0 {
		t.Errorf("another day used %+v, %v", got, err)
	}
	_, err := x.Usage(t.Context(), anna, "yesterday")
	x.wantCode(err, refusal.CodeInvalid)
}

// breaks is a store with many runs, whose second answer is lost.
type breaks struct {
	frontend.Store
	asked *int
}

func (s breaks) Runs(_ context.Context, _, _, cursor string, _ int) ([]core.Record, string, error) {
	if *s.asked++; *s.asked == 2 {
		return nil, "", engine.ErrUnavailable
	}
	if cursor == "last" {
		return nil, "", nil
	}
	return []core.Record{{Run: "r", Agent: "desk", Born: math.MaxInt64}}, map[bool]string{true: "next", false: "last"}[cursor != "next"], nil
}

func TestAPageOfRunsIsReadAgainAlone(t *testing.T) {
	asked := 0
	x := newFixture(t, func(s frontend.Store) frontend.Store { return breaks{s, &asked} })
	got, err := x.Usage(t.Context(), anna, "")
	if err != nil || got.Runs != 2 || asked != 4 {
		t.Errorf("%d runs, %v, after %d requests", got.Runs, err, asked)
	}
}
