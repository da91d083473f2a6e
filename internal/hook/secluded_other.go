//go:build !linux

package hook

// inheritNothing does nothing: Go's own files are not inherited, and this system offers no more.
func inheritNothing() {}

// Seclude does nothing: this system does not expose a process's environment under /proc.
func Seclude() {}
