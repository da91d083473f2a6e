package engine_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	for n, whole := range map[int]time.Duration{-1: time.Second, 0: time.Second, 1: 2 * time.Second, 2: 4 * time.Second, 3: 5 * time.Second, 1 << 30: 5 * time.Second} {
		if pause := engine.Backoff(enginetest.NewRandom(t, 7), time.Second, 5*time.Second, n); pause < whole/2 || pause > whole {
			t.Errorf("try %d: %s, of %s", n, pause, whole)
		}
	}
}
