package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// The inbox by urgency is read across the end of a window of 500 runs, while runs of both windows
// are answered and new ones wait: none that stays open is left out or listed twice.
func TestTheInboxAcrossWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a window of 500 runs")
	}
	t.Parallel()
	clock := enginetest.AtMilli(1_700_000_000_000)
	store := onDouble(newDouble(t)).on(t, clock)
	random := &frontendtest.Random{}
	worker := frontendtest.Worker{Test: t, Store: store, Clock: clock, Random: random, Tenant: "acme"}
	reader := query.New(frontend.New(frontend.Options{Store: store, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{}, Clock: clock, Random: random}))
	anna := frontend.Caller{Tenant: "acme", By: "token:anna"}
	waits := func(n int) (run, sus string) {
		started, err := reader.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`)})
		if err != nil {
			t.Fatal(err)
		}
		call := frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval, Deadline: clock.Now().UnixMilli() + 86_400_000 + int64(n*7919%1000)}
		return started.Run.ID, worker.Suspend(started.Run.ID, call)["c1"]
	}
	open, answer := map[string]bool{}, map[string]string{}
	var runs []string
	for n := range 520 {
		run, sus := waits(n)
		open[run], answer[run] = true, sus
		runs = append(runs, run)
	}
	clock.Advance(time.Minute) // what was written just before the list began may come twice
	seen := map[string]int{}
	for cursor, page := "", 0; ; page++ {
		got, err := reader.Approvals(t.Context(), anna, query.List{Order: query.OrderDeadline, Limit: 100, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got.Items {
			seen[a.RunID]++
		}
		if cursor = got.Next; cursor == "" {
			break
		}
		for _, gone := range []string{runs[3+page], runs[250+page], runs[501+page]} {
			if _, err := reader.Decide(t.Context(), anna, gone, wire.Decision{Target: answer[gone], Action: "cancel"}); err != nil {
				t.Fatal(err)
			}
			worker.Drain(gone)
			worker.Finish(gone, fmt.Sprint("gone on page ", page))
			delete(open, gone)
		}
		waits(1000 + page)
	}
	for run := range open {
		if seen[run] != 1 {
			t.Errorf("%s stayed open and is listed %d times", run, seen[run])
		}
	}
}
