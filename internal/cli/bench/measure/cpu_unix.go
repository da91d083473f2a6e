//go:build unix

package measure

import (
	"syscall"
	"time"
)

// processor returns how long this process has computed.
func processor() (d time.Duration, known bool) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, false
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), true
}
