//go:build linux && (386 || amd64 || arm || arm64 || loong64 || riscv64 || s390x)

package inbox

import (
	"os"
	"syscall"
)

// flushInput is the request TCFLSH, which has this number on these machines.
const flushInput = 0x540b

// forgetTyped drops the keys that were typed on a terminal and not read yet. An error is ignored:
// the inbox also checks when each key was typed.
func forgetTyped(tty *os.File) {
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), flushInput, syscall.TCIFLUSH)
}
