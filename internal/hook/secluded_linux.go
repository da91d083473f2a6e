package hook

import (
	"math"
	"syscall"
)

// Linux system call numbers, which are the same on every architecture of Go except MIPS, whose
// kernel rejects the number of close_range.
const (
	sysCloseRange      = 436
	closeRangeCloexec  = 1 << 2
	prSetDumpable      = 4
	firstBeyondOutputs = 3
)

// inheritNothing prevents commands from inheriting the open files of this process. Go opens its own
// files that way; a library may not, and the process may have inherited others. On a kernel older
// than 5.11 it has no effect.
func inheritNothing() {
	_, _, _ = syscall.RawSyscall(sysCloseRange, firstBeyondOutputs, math.MaxUint32, closeRangeCloexec)
}

// Seclude prevents commands of the same user from reading the environment and the memory of this
// process under /proc. It does not stop root.
func Seclude() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0) }
