//go:build !race

package sim_test

// eventRuns is how many runs have all of their events read.
const eventRuns = 10_000
