package httpapi_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// costly is a store whose runs have cost 0.50 dollars each.
type costly struct{ frontend.Store }

func (s costly) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	records, next, err := s.Store.Runs(ctx, tenant, thread, cursor, limit)
	for i := range records {
		records[i].Step, records[i].Cost, records[i].Priced = 1, 500_000, true
	}
	return records, next, err
}

// Beyond the budget of a day nothing begins, in each of the ways that work begins.
func TestBudgetsOverHTTP(t *testing.T) {
	budget := core.USD(0)
	s := newServer(t, settings{options: withHooks, front: func(o *frontend.Options) {
		o.Store = costly{o.Store}
		o.DayBudget = func(context.Context, engine.Definition) (core.USD, error) { return budget, nil }
	}})
	failed, done := s.start(), s.start()
	s.worker.End(failed.ID, core.Reason{Kind: core.Failed, Code: "boom"}, "")
	s.worker.Finish(done.ID, "done")
	budget = 1_000_000
	s.delivers(delivery{"desk", `{"input":"x"}`, 429, "budget_exceeded"})
	for path, body := range map[string]string{
		"/v1/runs": `{"agent":"desk","input":"hello"}`,
		"/v1/threads/" + done.ThreadID + "/messages": `{"input":"hello"}`,
		"/v1/runs/" + failed.ID + "/retry":           ``,
	} {
		got := s.send("POST", path, body)
		after, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if got.StatusCode != 429 || got.code() != "budget_exceeded" || err != nil || after < 60 {
			t.Errorf("%s: %d %s, again after %q", path, got.StatusCode, got.text, got.Header.Get("Retry-After"))
		}
	}
	if got := s.send("GET", "/v1/usage", ""); got.StatusCode != 200 || !strings.Contains(got.text, `"runs":2,"usage":{"input_tokens":0,"output_tokens":0},"cost":{"usd":"1.00"}`) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.send("GET", "/v1/usage?day=monday", ""); got.StatusCode != 400 || got.code() != "invalid_request" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
