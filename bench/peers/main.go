//go:build linux

// Command peers compares Dormouse with other runtimes for durable agents: each executes the same
// runs with the same model, and this program counts what each costs. It is started by hand; its
// smallest comparison is a test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: bench/peers/run install [-peers NAMES]
       bench/peers/run run [flags]

install installs the other peers, outside the repository. run measures Dormouse and those that are
installed, and prints a report.
`

// options are the flags of run.
type options struct {
	peers  []string
	steps  []int
	rounds int
	page   bool
	verify bool
	limit  time.Duration
	note   string
	work   string
	pace
}

// pace is how much is measured; tests are faster.
type pace struct {
	// how long the approver takes: meanwhile the peer stores what it has to
	thinking time.Duration
	// steps of a run before the first figure: programs compile what they execute often
	warmUp int
	// how many steps a figure comes from at least: the CPU time of /proc is coarse
	least int
}

const (
	thinking = 100 * time.Millisecond
	warmUp   = 30
	least    = 200
)

// asDesk is the first argument of the process that is measured.
const asDesk = "desk"

func main() {
	if len(os.Args) > 1 && os.Args[1] == asDesk {
		os.Args = append(os.Args[:1], os.Args[2:]...)
		serveDesk()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := perform(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func perform(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "install" && args[0] != "run" {
		fmt.Fprint(os.Stderr, usage)
		return flag.ErrHelp
	}
	o := options{pace: pace{thinking, warmUp, least}}
	var peers, steps string
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	set.StringVar(&peers, "peers", strings.Join(names(), ","), "comma-separated `NAMES`")
	set.StringVar(&o.work, "work", "/var/tmp/dormouse-peers", "`DIR` on the disk to measure, where the peers are installed")
	if args[0] == "run" {
		set.StringVar(&steps, "steps", "10,100,1000", "comma-separated `NUMBERS` of steps per run")
		set.IntVar(&o.rounds, "rounds", 5, "in each, every peer executes runs of each number of steps")
		set.BoolVar(&o.page, "page", false, "write "+pagePath)
		set.BoolVar(&o.verify, "verify", true, "count the flushes of each peer with strace")
		set.DurationVar(&o.limit, "limit", 5*time.Minute, "a run that takes longer is reported as too slow")
		set.StringVar(&o.note, "note", "", "what else the machine did, for the page")
	}
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	var err error
	if o.peers, err = chosen(peers); err != nil {
		return err
	}
	if args[0] == "install" {
		return installAll(ctx, o)
	}
	if o.steps, err = numbers(steps); err != nil {
		return err
	}
	return compare(ctx, o)
}

func chosen(list string) (all []string, err error) {
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("%q is not a peer; use some of %s", name, strings.Join(names(), ", "))
		}
		all = append(all, name)
	}
	return all, nil
}

func numbers(list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 3 {
			return nil, fmt.Errorf("--steps has %q; a run has two approvals and an answer, so it has at least 3 steps", text)
		}
		all = append(all, n)
	}
	return all, nil
}

// installAll goes on after a peer that can't be installed.
func installAll(ctx context.Context, o options) error {
	var failed []error
	installed := map[string]bool{} // commands that two peers have in common
	for _, name := range o.peers {
		fmt.Fprintln(os.Stderr, "installing", name)
		if err := installPeer(ctx, find(name), o.work, installed); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// compare measures, and prints the report.
func compare(ctx context.Context, o options) error {
	b, err := newBench(o)
	if err != nil {
		return err
	}
	defer b.model.close()
	if err := b.rounds(ctx); err != nil {
		return err
	}
	if o.verify {
		b.verify(ctx)
	}
	text := b.draw()
	fmt.Print(text)
	if !o.page {
		return nil
	}
	return writePage(filepath.Join("../..", pagePath), text)
}
