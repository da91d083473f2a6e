//go:build race

package sim_test

// The race detector makes each run take six times as long, so it plays a slice. CI plays all of it
// without the race detector.
const (
	eventRuns  = 400
	storyEvery = 8
	oneFiles   = 40
)
