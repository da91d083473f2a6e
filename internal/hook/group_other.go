//go:build !unix

package hook

import "os/exec"

// group does nothing: only the command itself is killed when its context ends.
func group(*exec.Cmd) {}
