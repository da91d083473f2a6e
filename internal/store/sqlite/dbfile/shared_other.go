//go:build !unix

package dbfile

// Shared reports whether another process has the database at path open; this platform cannot tell.
func Shared(string) bool { return false }
