package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/sim"
)

// besideEachOther lets a task run n parts side by side, and another task of its own, and writes down who ran when.
func besideEachOther(t *testing.T, seed uint64, n int) string {
	t.Helper()
	w := sim.NewWorld(seed)
	var order []string
	note := func(who string) { order = append(order, who) }
	w.Go(t.Context(), "whole", func(ctx context.Context) {
		for round := range 2 {
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					defer func() { _ = recover() }()
					w.Beside(ctx, fmt.Sprint(i), n, func(ctx context.Context) {
						note(fmt.Sprintf("%d.%d", round, i))
						_ = w.Sleep(ctx, w.Upto(time.Second))
						note(fmt.Sprintf("%d.%d", round, i))
						if i == 1 {
							panic("a part that fails still leaves")
						}
					})
				})
			}
			wg.Wait()
			note("all")
			w.Yield(ctx)
		}
	})
	w.Go(t.Context(), "other", func(ctx context.Context) {
		for range 3 {
			note("other")
			_ = w.Sleep(ctx, w.Upto(time.Second))
		}
	})
	w.Daemon(t.Context(), "never through", func(ctx context.Context) {
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() { w.Beside(ctx, fmt.Sprint(i), 2, func(ctx context.Context) { _ = w.Sleep(ctx, time.Hour) }) })
		}
		wg.Wait()
		w.Yield(ctx)
	})
	if err := w.Run(1000); err != nil {
		t.Fatal(err)
	}
	if got := slices.Index(order, "all"); n > 1 && got < 2*n {
		t.Errorf("the whole went on before its parts had ended: %v", order)
	}
	return strings.Join(order, " ")
}

func TestPartsOfATaskRunSideBySideInAnOrderOfTheSeed(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		first := besideEachOther(t, seed, 4)
		for range 5 {
			if again := besideEachOther(t, seed, 4); again != first {
				t.Fatalf("seed %d ran as\n%s\nand as\n%s", seed, first, again)
			}
		}
		orders[first] = true
	}
	if len(orders) < 10 {
		t.Errorf("20 seeds made %d orders", len(orders))
	}
	besideEachOther(t, 1, 1)
}
