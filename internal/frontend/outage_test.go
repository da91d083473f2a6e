package frontend_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

func TestARunSaysThatItWaitsForItsModel(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	if run.WaitingOn != "" || run.NextAttemptAt != nil {
		t.Errorf("a run that begins: %+v", run)
	}
	since := x.clock.Now().Add(-time.Hour).UnixMilli()
	next := x.clock.Now().Add(10 * time.Minute).UnixMilli()
	x.worker.Down(run.ID, core.Outage{Since: since, Code: "model_unavailable", Detail: "nobody listens"}, next)
	wants := func(got wire.Run, err error, next *wire.Time) {
		t.Helper()
		if err != nil || got.Status != "running" || got.WaitingOn != "model" || got.Code != "model_unavailable" || got.Detail != "nobody listens" ||
			got.Reason != nil || got.Error != nil || got.WaitingSince == nil || *got.WaitingSince != wire.Millis(since) {
			t.Fatalf("%+v, %v", got, err)
		}
		if (got.NextAttemptAt == nil) != (next == nil) || next != nil && *got.NextAttemptAt != *next {
			t.Errorf("next attempt at %v, want %v", got.NextAttemptAt, next)
		}
	}
	at := wire.Millis(next)
	got, err := x.Run(t.Context(), anna, run.ID)
	wants(got, err, &at)
	page, err := x.Runs(t.Context(), anna, query.List{})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	wants(page.Items[0], err, &at)

	if _, err := x.store.Claim(t.Context(), engine.ClaimRequest{Tenant: anna.Tenant, Thread: run.ThreadID, Claim: "c", Now: next, LeaseEnd: next + 60_000, Due: next + 65_000,
		Schema: core.SchemaVersion}); err != nil {
		t.Fatal(err)
	}
	got, err = x.Run(t.Context(), anna, run.ID)
	wants(got, err, nil)
}

func TestARunThatEndedWaitsForNoModel(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Down(run.ID, core.Outage{Since: 1, Code: "model_unavailable", Detail: "nobody listens"}, x.clock.Now().UnixMilli())
	x.worker.End(run.ID, core.Reason{Kind: core.Stopped, Code: "max_rounds"}, "the last word")
	got, err := x.Run(t.Context(), anna, run.ID)
	if err != nil || got.Status != "done" || got.WaitingOn != "" || got.WaitingSince != nil || got.NextAttemptAt != nil || got.Code != "max_rounds" {
		t.Errorf("%+v, %v", got, err)
	}
}
