package hook

import (
	"math"
	"syscall"
)

// Numbers of Linux, the same on every architecture that Go supports except MIPS, whose kernel
// refuses the number of close_range.
const (
	sysCloseRange      = 436
	closeRangeCloexec  = 1 << 2
	prSetDumpable      = 4
	firstBeyondOutputs = 3
)

// inheritNothing keeps the files that this process has open from commands that it starts. Go opens
// its files so; a library may not, and the process may have been started with others. It changes
// nothing on a kernel older than 5.11, which does not have the flag.
func inheritNothing() {
	_, _, _ = syscall.RawSyscall(sysCloseRange, firstBeyondOutputs, math.MaxUint32, closeRangeCloexec)
}

// Seclude keeps commands that run as the same user from reading the environment and the memory of
// this process under /proc. It does not keep root from it.
func Seclude() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0) }
