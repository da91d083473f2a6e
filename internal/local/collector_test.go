package local

import (
	"context"
	"runtime/debug"
	"testing"
)

func TestASmallHeapMayGrowByTheHeadroomAndALargeOneDoubles(t *testing.T) {
	const mb = 1 << 20
	for live, percent := range map[uint64]int{0: 400, 1 * mb: 400, 8 * mb: 400, 10 * mb: 300, 16 * mb: 200, 30 * mb: 100, 32 * mb: 100, 4000 * mb: 100} {
		if got := growth(live); got != percent {
			t.Errorf("%d MB: %d, want %d", live/mb, got, percent)
		}
	}
}

// TestTheLastServerRestoresTheCollector: the program that embeds it has its own setting.
func TestTheLastServerRestoresTheCollector(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	var c collector
	c.count(1)
	c.count(1)
	c.count(-1)
	if now := debug.SetGCPercent(c.percent); now != c.percent || c.percent < 100 {
		t.Errorf("%d%% with a server, want %d%%", now, c.percent)
	}
	c.count(-1)
	c.collected() // too late
	if now := debug.SetGCPercent(77); now != 77 {
		t.Errorf("%d%% without servers", now)
	}
}

func TestAProcessWithASettingOfItsOwnKeepsIt(t *testing.T) {
	t.Setenv("GOGC", "77")
	rareCollections(context.Background()) // returns
}
