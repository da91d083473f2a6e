//go:build darwin || dragonfly || freebsd || netbsd

package inbox

import (
	"os"
	"syscall"
	"unsafe"
)

// forgetTyped drops the keys that were typed on a terminal and not read yet. An error is ignored:
// the inbox also checks when each key was typed.
func forgetTyped(tty *os.File) {
	read := int32(1) // FREAD: of what comes in
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCFLUSH, uintptr(unsafe.Pointer(&read)))
}
