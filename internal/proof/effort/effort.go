// Package effort says how much of a long suite a test plays. Under go test -short, which make test
// passes, each suite plays a slice; make race plays all of it, but for three suites of the
// simulator.
package effort

import "testing"

// Of returns full, or short under -short.
func Of(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// Long skips the test under -short. The reason says what takes the time.
func Long(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		t.Skip("make race plays it: " + reason)
	}
}
