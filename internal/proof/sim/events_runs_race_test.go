//go:build race

package sim_test

// eventRuns is how many runs have all of their events read. The race detector makes each take six
// times as long; CI reads those of 10,000 without it as well.
const eventRuns = 2_000
