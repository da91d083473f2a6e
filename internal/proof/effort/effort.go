// Package effort says how much of a long suite a test plays. Under go test -short, which make test
// and make race pass, each suite plays a slice; make long plays all of it.
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
		t.Skip("make long plays it: " + reason)
	}
}
