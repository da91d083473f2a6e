package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// simulator is the package whose tests look for the faults.
const simulator = "internal/proof/sim"

// asItIs is the name of the code without a fault.
const asItIs = "the code as it is"

// result is what became of one fault.
type result struct {
	name      string
	found     bool
	schedules uint64 // up to the one that is wrong, or all
	took      time.Duration
	violation string
}

// play compiles the simulator with a fault in it and plays up to limit schedules.
func (f *field) play(ctx context.Context, planted fault, limit uint64) (result, error) {
	dir, err := os.MkdirTemp(f.dir, "fault-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	overlay, err := f.overlay(dir, planted)
	if err != nil {
		return result{}, err
	}
	bin := filepath.Join(dir, "sim.test")
	fmt.Fprintf(f.progress, "%s: compiling\n", planted.name)
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlay, "-o", bin, "./"+simulator)
	build.Dir = f.root
	if out, err := build.CombinedOutput(); err != nil {
		return result{}, fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	return f.search(ctx, planted, bin, limit)
}

// overlay writes the changed files and the list that the compiler reads them by.
func (f *field) overlay(dir string, planted fault) (path string, err error) {
	changed, err := planted.plant(func(file string) (string, error) {
		raw, err := os.ReadFile(filepath.Join(f.root, filepath.FromSlash(file)))
		return string(raw), err
	})
	if err != nil {
		return "", err
	}
	list := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range changed {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		list.Replace[filepath.Join(f.root, filepath.FromSlash(file))] = copied
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, raw, 0o600)
}

// search plays schedules until one is wrong.
func (f *field) search(ctx context.Context, planted fault, bin string, limit uint64) (result, error) {
	name, tests := planted.name, cmp.Or(planted.tests, f.o.tests)
	within, cancel := context.WithTimeout(ctx, f.o.given)
	defer cancel()
	cmd := exec.CommandContext(within, bin, "-test.run", tests, "-test.timeout", "0",
		"-sim.first", strconv.FormatUint(f.o.first, 10), "-sim.seeds", strconv.FormatUint(limit, 10), "-sim.progress")
	cmd.Dir = filepath.Join(f.root, filepath.FromSlash(simulator))
	var said bytes.Buffer
	cmd.Stdout = &said
	heard, err := cmd.StderrPipe()
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	played, rest := f.follow(name, heard)
	err = cmd.Wait()
	r := result{name: name, schedules: played, took: time.Since(began)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case within.Err() != nil:
		return r, nil // no end in sight, and nothing found
	case err == nil && played == 0:
		return r, errors.New("no schedule was played")
	case err == nil:
		return r, nil
	case !errors.As(err, &exit):
		return r, err
	}
	seed, violation := readViolation(said.String() + rest)
	if violation == "" {
		return r, fmt.Errorf("the simulator ended without a word on what is wrong: %w", err)
	}
	r.found = true
	if r.violation = violation; seed >= f.o.first {
		r.schedules = seed - f.o.first + 1
	}
	return r, nil
}

var progressLine = regexp.MustCompile(`^sim: (\d+)( of \d+)? schedules`)

// follow passes the progress on. It returns how many schedules were played, as far as that was
// said, and everything else.
func (f *field) follow(name string, heard io.Reader) (played uint64, rest string) {
	var other strings.Builder
	lines := bufio.NewScanner(heard)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		m := progressLine.FindStringSubmatch(lines.Text())
		if m == nil {
			other.WriteString(lines.Text() + "\n")
			continue
		}
		played, _ = strconv.ParseUint(m[1], 10, 64)
		fmt.Fprintf(f.progress, "%s: %s\n", name, strings.TrimPrefix(lines.Text(), "sim: "))
	}
	return played, other.String()
}

var (
	seedLine      = regexp.MustCompile(`-sim\.seed (\d+)`)
	violationLine = regexp.MustCompile(`(?m)seed \d+ at [\d:.]+: (.*)$`)
	panicLine     = regexp.MustCompile(`(?m)^(?:panic|fatal error): .*$`)
	failureLine   = regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: (.*)$`)
)

// readViolation finds the seed and the first violation in what a failed test said. A panic ends
// everything and names no seed.
func readViolation(said string) (seed uint64, violation string) {
	if m := seedLine.FindStringSubmatch(said); m != nil {
		seed, _ = strconv.ParseUint(m[1], 10, 64)
	}
	for _, line := range []*regexp.Regexp{violationLine, panicLine, failureLine} {
		if m := line.FindStringSubmatch(said); m != nil {
			return seed, m[len(m)-1]
		}
	}
	return seed, ""
}
