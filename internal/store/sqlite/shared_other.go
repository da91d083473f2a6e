//go:build !unix

package sqlite

// shared reports whether another process has the database at path open; this platform cannot tell.
func shared(string) bool { return false }
