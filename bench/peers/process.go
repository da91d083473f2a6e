//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program of a peer, with all processes that it starts.
type process struct {
	cmd *exec.Cmd
	log *os.File
}

// spawn starts a program. Under strace, traced is the file for its flushes; else it is empty.
func spawn(dir, traced string, user *syscall.Credential, env []string, args ...string) (*process, error) {
	if traced != "" {
		args = append([]string{"strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-e", "signal=none", "-o", traced}, args...)
	}
	log, err := os.OpenFile(filepath.Join(dir, filepath.Base(args[0])+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p := &process{exec.Command(args[0], args[1:]...), log}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: user, Pdeathsig: syscall.SIGKILL}
	return p, errors.Join(p.cmd.Start())
}

// stop ends a program and what it started.
func (p *process) stop() {
	defer p.log.Close()
	tree := descendants([]int{p.cmd.Process.Pid})
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		p.cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
	}
	for _, pid := range tree {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	<-ended
}

// said returns the end of what it has logged.
func (p *process) said() string {
	text, _ := os.ReadFile(p.log.Name())
	return string(text[max(0, len(text)-2000):])
}

// descendants returns processes and all that they started, by /proc.
func descendants(roots []int) []int {
	children := map[int][]int{}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		if pid, fields := stat(path); fields != nil {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	found := append([]int(nil), roots...)
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// stat reads the fields of a stat file from the state on; nil if the process has ended.
func stat(path string) (pid int, fields []string) {
	text, err := os.ReadFile(path)
	end := bytes.LastIndexByte(text, ')')
	if err != nil || end < 0 {
		return 0, nil
	}
	pid, _ = strconv.Atoi(strings.Fields(string(text))[0])
	return pid, strings.Fields(string(text[end+1:]))
}

// ticks is how many ticks of the counters of /proc a second has.
const ticks = 100

// processor returns how long all processes of a peer have computed, ended children included.
func processor(all []*process) time.Duration {
	var roots []int
	for _, p := range all {
		roots = append(roots, p.cmd.Process.Pid)
	}
	sum := 0
	for _, pid := range descendants(roots) {
		_, fields := stat(fmt.Sprintf("/proc/%d/stat", pid))
		// user and system time, and that of children that have ended
		for i := 11; i <= 14 && fields != nil; i++ {
			n, _ := strconv.Atoi(fields[i])
			sum += n
		}
	}
	return time.Duration(sum) * time.Second / ticks
}

// flushes counts the system calls in a file of strace.
func flushes(paths []string) (n int) {
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "resumed>") && strings.Contains(line, "sync") {
				n++
			}
		}
	}
	return n
}

// until calls ready until it returns nil, for at most half a minute.
func until(ctx context.Context, ready func() error) error {
	ctx, stop := context.WithTimeout(ctx, 60*time.Second)
	defer stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
