//go:build !race

package sim_test

const (
	eventRuns  = 10_000 // runs that have all of their events read
	storyEvery = 1      // of so many crash points of a story, one is played
	oneFiles   = 150    // schedules on SQLite as store and queue
)
