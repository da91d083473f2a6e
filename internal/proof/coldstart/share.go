package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// share is a control group whose processes get a part of one CPU.
type share struct{ dir string }

// period is that of the scheduler's quota, in microseconds: with 100 ms, the usual one, a process
// would often finish a step before it is stopped for the first time.
const period = 20_000

// limit makes a group, in version 2 or 1 of control groups.
func limit(part float64) (s share, err error) {
	quota := max(1000, int(part*period))
	for _, try := range []struct {
		root  string
		files map[string]string
	}{
		{"/sys/fs/cgroup/cpu", map[string]string{"cpu.cfs_period_us": fmt.Sprint(period), "cpu.cfs_quota_us": fmt.Sprint(quota)}},
		{"/sys/fs/cgroup", map[string]string{"cpu.max": fmt.Sprintf("%d %d", quota, period)}},
	} {
		s = share{filepath.Join(try.root, fmt.Sprintf("dormouse-coldstart-%d", os.Getpid()))}
		if err = os.Mkdir(s.dir, 0o755); err != nil {
			continue
		}
		for name, value := range try.files {
			err = errors.Join(err, os.WriteFile(filepath.Join(s.dir, name), []byte(value), 0o644))
		}
		if err == nil {
			return s, nil
		}
		s.remove()
	}
	return share{}, fmt.Errorf("limiting the CPU needs root and control groups: %w", err)
}

// remove removes the group, which has no processes any more.
func (s share) remove() { _ = os.Remove(s.dir) }

// command is a command that runs a program in the group.
func (s share) command(binary string) []string {
	if s.dir == "" {
		return []string{binary}
	}
	return []string{"/bin/sh", "-c", `echo $$ > "$0" && exec "$1"`, filepath.Join(s.dir, "cgroup.procs"), binary}
}
