package hook

import (
	"math"
	"syscall"
)

// Numbers of Linux, the same on every architecture that Go knows.
const (
	sysCloseRange      = 436
	closeRangeCloexec  = 1 << 2
	prSetDumpable      = 4
	firstBeyondOutputs = 3
)

// inheritNothing keeps the files that this process has open from commands that it starts. Go opens
// its files so; a library may not, and the process may have been started with others. A kernel older
// than 5.11 does not know the call, and then it changes nothing.
func inheritNothing() {
	_, _, _ = syscall.RawSyscall(sysCloseRange, firstBeyondOutputs, math.MaxUint32, closeRangeCloexec)
}

// Seclude keeps the environment and the memory of this process from commands that run as the same
// user, as they stand under /proc. It does not keep them from root.
func Seclude() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0) }
