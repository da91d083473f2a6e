//go:build darwin || dragonfly || freebsd || netbsd

package inbox

import (
	"os"
	"syscall"
	"unsafe"
)

// forgetTyped drops what was typed on a terminal and nobody has read. One that refuses keeps it:
// the keys are judged by their time as well.
func forgetTyped(tty *os.File) {
	read := int32(1) // FREAD: of what comes in
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCFLUSH, uintptr(unsafe.Pointer(&read)))
}
