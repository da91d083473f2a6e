//go:build unix

package hook

import (
	"os/exec"
	"syscall"
)

// group puts the command into a new process group, which is killed as a whole when its context
// ends.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
