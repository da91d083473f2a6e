package pause

import (
	"fmt"
	"testing"
)

// spread is how many of 1,000 runs come in each tenth of the range from lo to hi.
func spread(t *testing.T, lo, hi int64, wait func(run string) int64) (tenths [10]int) {
	t.Helper()
	for i := range 1000 {
		run := fmt.Sprintf("run_%d_0", i)
		at := wait(run)
		if at < lo || at >= hi || at != wait(run) {
			t.Fatalf("%s waits %d ms, then %d; want the same twice, from %d to %d", run, at, wait(run), lo, hi)
		}
		tenths[(at-lo)*10/(hi-lo)]++
	}
	return tenths
}

// A thousand runs that are refused in one second do not come back in one second, not even if the
// provider asks all of them for the same pause.
func TestRunsThatFailTogetherComeBackApart(t *testing.T) {
	for _, c := range []struct {
		name   string
		lo, hi int64
		wait   func(run string) int64
	}{
		{"a backoff", 8000, 16_000, func(run string) int64 { return Jittered(16_000, run, 4) }},
		{"the provider asks for a minute", 60_000, 90_000, func(run string) int64 { return Asked(Jittered(2000, run, 1), 60_000, run, 1) }},
		{"the provider asks for less than the backoff", 8000, 16_000, func(run string) int64 { return Asked(Jittered(16_000, run, 4), 1000, run, 4) }},
		{"the provider asks for nothing", 8000, 16_000, func(run string) int64 { return Asked(Jittered(16_000, run, 4), 0, run, 4) }},
	} {
		for tenth, n := range spread(t, c.lo, c.hi, c.wait) {
			if n < 60 || n > 140 {
				t.Errorf("%s: %d of 1000 come in tenth %d", c.name, n, tenth)
			}
		}
	}
	if Jittered(16_000, "run_a_0", 4) == Jittered(16_000, "run_a_0", 5) {
		t.Error("two tries of a run wait equally long")
	}
	if at := Asked(2000, 3*Longest, "run_a_0", 1); at != Longest {
		t.Errorf("waits %d ms, more than a wake-up can be delayed", at)
	}
}
