// Command planted tests the simulator: it puts deliberate faults into the code, one at a time, and
// demands that generated schedules find each of them. A fault that is not found is a blind spot of
// the simulator. The faults are in internal/proof/sim/testdata/planted. Nothing is changed in the
// working tree: the compiler is handed the changed files beside it. It does not say what is wrong
// with a simulator that is blind, and it does not look for faults that nobody planted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: go run ./internal/proof/sim/planted [flags]

Plants each fault of internal/proof/sim/testdata/planted, and plays schedules until one is wrong. At the end it plays as many on the code as it
is. Exit code 0: every fault was found, and the code as it is was not found wrong.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	found, err := run(ctx, os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	case !found:
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	only  string
	limit uint64
	first uint64
	tests string
	given time.Duration
	json  bool
}

func readOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("planted", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.only, "only", "", "the faults with `NAME` in their names alone, or with one of several names between commas")
	flags.Uint64Var(&o.limit, "schedules", 100_000, "how many schedules a fault may take")
	flags.Uint64Var(&o.first, "first", 1, "the first schedule")
	flags.StringVar(&o.tests, "tests", "^TestSchedules$", "the tests of the simulator that look for it")
	flags.DurationVar(&o.given, "given", 30*time.Minute, "how long one fault may take")
	flags.BoolVar(&o.json, "json", false, "a JSON object a line")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	return o, nil
}

// run plants and plays; good says that all was as it must be.
func run(ctx context.Context, args []string) (good bool, err error) {
	o, err := readOptions(args)
	if err != nil {
		return false, err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return false, err
	}
	faults, err := readFaults(filepath.Join(root, "internal", "proof", "sim", "testdata", "planted"))
	if err != nil {
		return false, err
	}
	if faults = chosen(faults, o.only); len(faults) == 0 {
		return false, fmt.Errorf("no fault is called %q", o.only)
	}
	dir, err := os.MkdirTemp("", "planted-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	field := &field{root: root, dir: dir, o: o, told: reporter(os.Stdout, o.json), progress: os.Stderr}
	return field.work(ctx, faults)
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("run it inside the module")
	}
	return filepath.Dir(mod), nil
}

func chosen(faults []fault, only string) (kept []fault) {
	for _, f := range faults {
		for name := range strings.SplitSeq(only, ",") {
			if strings.Contains(f.name, name) {
				kept = append(kept, f)
				break
			}
		}
	}
	return kept
}

// field is where faults are planted, one after the other.
type field struct {
	root, dir string
	o         options
	told      report
	progress  io.Writer
}

// work plays every fault, and as many schedules as the slowest took on the code as it is.
func (f *field) work(ctx context.Context, faults []fault) (good bool, err error) {
	s := sum{planted: len(faults)}
	tests := []string{f.o.tests}
	for _, planted := range faults {
		if planted.tests != "" && !slices.Contains(tests, planted.tests) {
			tests = append(tests, planted.tests)
		}
		r, err := f.play(ctx, planted, f.o.limit)
		if err != nil {
			return false, fmt.Errorf("%s: %w", planted.name, err)
		}
		f.told.one(r)
		s.add(r)
	}
	s.unchanged, err = f.play(ctx, fault{name: asItIs, tests: strings.Join(tests, "|")}, max(s.slowest, 1))
	if err != nil {
		return false, fmt.Errorf("%s: %w", asItIs, err)
	}
	f.told.sum(s)
	return s.good(), nil
}
