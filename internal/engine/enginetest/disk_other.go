//go:build !linux

package enginetest

import "testing"

// SmallDisk skips the test: a small file system is mounted on Linux alone.
func SmallDisk(t *testing.T, _ int) string {
	t.Helper()
	t.Skip("a small file system is mounted on Linux alone")
	return ""
}

// Fill is never reached.
func Fill(*testing.T, string) (room func()) { return func() {} }
