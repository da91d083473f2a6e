package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// beside lets a task run n parts beside itself, and another task of its own, and writes down who
// ran when.
func beside(t *testing.T, seed uint64, order sim.Order, n int) string {
	t.Helper()
	w := sim.NewWorld(seed)
	w.Order = order
	var seen []string
	note := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	w.Go(t.Context(), "whole", func(ctx context.Context) {
		all, left := make(chan struct{}), n
		for i := range n {
			w.Spawn(func() {
				note("%d", i)
				_ = w.Sleep(ctx, w.Upto(time.Second))
				note("%d", i)
				if left--; left == 0 {
					close(all)
				}
			})
		}
		w.Await(all, nil)
		note("all")
	})
	w.Go(t.Context(), "other", func(ctx context.Context) {
		for range 3 {
			note("other")
			_ = w.Sleep(ctx, w.Upto(time.Second))
		}
	})
	ended := false
	w.Daemon(t.Context(), "never through", func(ctx context.Context) {
		defer func() { ended = true }()
		w.Await(make(chan struct{}), nil)
	})
	if err := w.Run(1000); err != nil {
		t.Fatal(err)
	}
	if got := slices.Index(seen, "all"); got < 2*n {
		t.Errorf("the whole went on before its parts had ended: %v", seen)
	}
	if !ended {
		t.Error("a daemon's deferred functions did not run")
	}
	return strings.Join(seen, " ")
}

func TestPartsOfATaskRunInAnOrderOfTheSeed(t *testing.T) {
	for _, how := range []sim.Order{sim.AnyOrder, sim.LongTurns, sim.Priorities} {
		orders := map[string]bool{}
		for seed := range uint64(20) {
			first := beside(t, seed, how, 4)
			for range 5 {
				if again := beside(t, seed, how, 4); again != first {
					t.Fatalf("seed %d ran as\n%s\nand as\n%s", seed, first, again)
				}
			}
			orders[first] = true
		}
		if len(orders) < 10 {
			t.Errorf("order %d: 20 seeds made %d orders", how, len(orders))
		}
	}
}

func TestATimerWakesWhoeverSleepsInAContextItEnds(t *testing.T) {
	w := sim.NewWorld(1)
	var woke time.Duration
	w.Go(t.Context(), "sleeper", func(ctx context.Context) {
		began := w.Now()
		ctx, cancel := context.WithCancel(ctx)
		w.AfterFunc(time.Minute, cancel)
		defer w.AfterFunc(2*time.Minute, func() { t.Error("a stopped timer fired") })()
		if err := w.Sleep(ctx, time.Hour); err == nil {
			t.Error("it slept to the end")
		}
		woke = w.Now().Sub(began)
	})
	if err := w.Run(1000); err != nil {
		t.Fatal(err)
	}
	if woke < time.Minute || woke > time.Minute+time.Second {
		t.Errorf("it woke after %s", woke)
	}
}

func TestATaskThatIsLostEndsAloneAndOneThatPanicsEndsTheWorld(t *testing.T) {
	w := sim.NewWorld(1)
	w.Go(t.Context(), "lost", func(context.Context) { panic(sim.Crash{Where: "here"}) })
	if err := w.Run(10); err != nil {
		t.Fatal(err)
	}
	w = sim.NewWorld(1)
	w.Go(t.Context(), "wrong", func(context.Context) { panic("a mistake") })
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "wrong panicked: a mistake") || !strings.Contains(p, "world_test.go") {
			t.Errorf("got %s", p)
		}
	}()
	_ = w.Run(10)
}

func TestAPartThatLosesItsProcessEndsTheWhole(t *testing.T) {
	w := sim.NewWorld(1)
	after := false
	var where any
	w.Go(t.Context(), "whole", func(context.Context) {
		defer func() { where = recover() }()
		w.Spawn(func() {
			w.Spawn(func() {
				w.Lose("in a part of a part")
				after = true
			})
		})
		w.Await(make(chan struct{}), nil)
		after = true
	})
	if err := w.Run(100); err != nil || after || where != (sim.Crash{Where: "in a part of a part"}) {
		t.Errorf("lost %v, %v; somebody went on: %v", where, err, after)
	}
}

func TestAWorldInWhichNobodyCanRunIsStuck(t *testing.T) {
	w := sim.NewWorld(1)
	w.Go(t.Context(), "waiting", func(context.Context) { w.Await(make(chan struct{}), nil) })
	if err := w.Run(0); err != sim.ErrStuck {
		t.Errorf("got %v", err)
	}
}
