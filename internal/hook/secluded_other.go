//go:build !linux

package hook

// inheritNothing: Go's own files are inherited by no command, which is all that this system can do.
func inheritNothing() {}

// Seclude does nothing: this system does not show a process's environment under /proc.
func Seclude() {}
