//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// peer is a runtime that is compared.
type peer struct {
	name, title string
	// folder has its files; empty if it is the name.
	folder string
	// install are commands in the folder for its files, which are copied there.
	install [][]string
	version func(home string) string
	// start serves a new store in dir.
	start func(ctx context.Context, w *world) (caller, error)
}

// world is where a peer is started.
type world struct {
	home, dir, model string
	env              []string // for its programs
	traced           string   // folder for files of strace; empty if it isn't traced
	processes        []*process
}

// caller is who uses a peer, over HTTP.
type caller interface {
	start(ctx context.Context, id string, steps int) error
	// waits returns once the run waits for an approval, where the peer can tell.
	waits(ctx context.Context, id string) error
	approve(ctx context.Context, id string, step int) error
	done(ctx context.Context, id string) error
}

// spawn starts a program of the peer.
func (w *world) spawn(user *syscall.Credential, env []string, args ...string) error {
	traced := ""
	if w.traced != "" {
		traced = filepath.Join(w.traced, fmt.Sprint(len(w.processes), ".strace"))
	}
	p, err := spawn(w.dir, traced, user, slices.Concat(w.env, env, []string{"MODEL_URL=" + w.model}), args...)
	if err == nil {
		w.processes = append(w.processes, p)
	}
	return err
}

func (w *world) stop() {
	for _, p := range slices.Backward(w.processes) {
		p.stop()
	}
}

// said is the end of the logs.
func (w *world) said() string {
	var all []string
	for _, p := range w.processes {
		all = append(all, p.cmd.Path+": "+p.said())
	}
	return strings.Join(all, "\n")
}

var all = []peer{ours, restate, temporal, langgraphJS, langgraphJSPostgres, langgraphPython, langgraphPythonPostgres, dbos, eino, lambda}

func names() (names []string) {
	for _, p := range all {
		names = append(names, p.name)
	}
	return names
}

// source is the folder with the files of the peer.
func (p peer) source() string { return cmp.Or(p.folder, p.name) }

func find(name string) peer {
	return all[slices.IndexFunc(all, func(p peer) bool { return p.name == name })]
}

// installPeer copies the files of a peer to work, and installs what they need, except for what was
// already installed.
func installPeer(ctx context.Context, p peer, work string, installed map[string]bool) error {
	home := filepath.Join(work, p.source())
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	source, err := filepath.Abs(p.source())
	if err != nil {
		return err
	}
	if _, err := os.Stat(source); err == nil {
		if out, err := exec.CommandContext(ctx, "cp", "-r", source+"/.", home).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	for _, line := range p.install {
		args := []string{"-c", strings.Join(line, " ")}
		if installed[home+args[1]] {
			continue
		}
		cmd := exec.CommandContext(ctx, "sh", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = home, os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		installed[home+args[1]] = true
	}
	return nil
}
