package sim_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

var (
	oneSeed   = flag.Uint64("sim.seed", 0, "this schedule alone, with the story of what happens in it if that is wrong")
	firstSeed = flag.Uint64("sim.first", 1, "the first schedule")
	seeds     = flag.Uint64("sim.seeds", 300, "how many schedules")
	howLong   = flag.Duration("sim.for", 0, "begin no schedule after so long; 0: no limit")
	large     = flag.Bool("sim.large", false, "large schedules alone")
	onSQLite  = flag.Bool("sim.sqlite", false, "on SQLite")
	onDynamo  = flag.Bool("sim.dynamo", false, "on DynamoDB's protocol, with faults on the wire")
	traced    = flag.Bool("sim.trace", false, "tell what happens even if nothing is wrong")
	progress  = flag.Bool("sim.progress", false, "say now and then how far it is")
)

// TestSchedules (I-1 to I-9) lets generated agents, callers, workers and sweeps meet every fault
// there is, and holds what they were told and what is left against the invariants of the design.
// Each seed is one schedule; it stops at the first that is wrong.
func TestSchedules(t *testing.T) {
	b := newBatch(t, *seeds, cut{})
	b.play()
}

// newBatch is n schedules from the first one on, or the one that the flags name.
func newBatch(t *testing.T, n uint64, c cut) *batch {
	b := &batch{t: t, cut: c, began: time.Now(), met: map[string]int{}, schedule: schedule, mustMeet: mustMeet}
	b.template = sync.OnceValue(func() []byte { return emptyStore(t) })
	b.first, b.end = *firstSeed, *firstSeed+n
	if *oneSeed != 0 {
		b.first, b.end = *oneSeed, *oneSeed+1
	}
	b.next.Store(b.first)
	if *traced {
		b.cut.tell = func(line string) { t.Log(line) }
	}
	return b
}

// batch is many schedules, played as many at a time as there are cores.
type batch struct {
	t          *testing.T
	template   func() []byte
	cut        cut         // what is left out, or put in, of each
	schedule   player      // plays one
	mustMeet   []string    // what a large number must contain
	enough     func() bool // ends it before its last seed; nil: nothing does
	began      time.Time
	first, end uint64
	next       atomic.Uint64
	done       atomic.Uint64

	mu    sync.Mutex
	met   map[string]int
	found *failure // the one with the lowest seed
}

// player plays the schedule of a seed, and returns what it met and what is wrong.
type player func(t *testing.T, template func() []byte, seed uint64, c cut) (met map[string]int, wrong []string)

type failure struct {
	seed       uint64
	violations []string
}

// play plays the schedules and says how that went.
func (b *batch) play() {
	stop := b.report()
	var all sync.WaitGroup
	for range min(uint64(runtime.GOMAXPROCS(0)), b.end-b.first) {
		all.Go(b.work)
	}
	all.Wait()
	stop()
	b.close()
}

func (b *batch) work() {
	for {
		seed := b.next.Add(1) - 1
		if seed >= b.end || *howLong > 0 && time.Since(b.began) > *howLong || b.enough != nil && b.enough() {
			return
		}
		met, wrong := b.schedule(b.t, b.template, seed, b.cut)
		b.done.Add(1)
		b.add(met)
		if len(wrong) > 0 {
			b.fail(seed, wrong)
			return
		}
	}
}

func (b *batch) add(met map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for kind, n := range met {
		b.met[kind] += n
	}
}

func (b *batch) fail(seed uint64, violations []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found == nil || seed < b.found.seed {
		b.found = &failure{seed, violations}
	}
	b.next.Store(b.end) // those under way come to their end
}

// report says how far it is, if that is wanted.
func (b *batch) report() (stop func()) {
	if !*progress {
		return func() {}
	}
	tick, over := time.NewTicker(5*time.Second), make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(os.Stderr, "sim: %d of %d schedules, %s\n", b.done.Load(), b.end-b.first, b.rate())
			case <-over:
				tick.Stop()
				return
			}
		}
	}()
	return func() { close(over) }
}

func (b *batch) rate() string {
	cores := runtime.GOMAXPROCS(0)
	rate := float64(b.done.Load()) / time.Since(b.began).Seconds()
	return fmt.Sprintf("%.0f a second on %d cores (%.0f each)", rate, cores, rate/float64(cores))
}

// close prints the closing line, and before it what was met on the way and what is wrong.
func (b *batch) close() {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(b.met)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, b.met[kind]))
	}
	b.t.Logf("met: %s", strings.Join(kinds, ", "))
	if n := b.done.Load(); b.found == nil && *howLong == 0 && b.enough == nil && n != b.end-b.first {
		b.t.Errorf("%d of %d schedules were played", n, b.end-b.first)
	}
	for _, kind := range b.mustMeet {
		if b.found == nil && b.done.Load() >= enoughToMeet && b.met[kind] == 0 {
			b.t.Errorf("in %d schedules there was never: %s", b.done.Load(), kind)
		}
	}
	violations := 0
	if b.found != nil {
		violations = 1
		b.t.Errorf("%s\n%s\nagain with: go test ./internal/proof/sim -run %s -sim.seed %d%s", strings.Join(b.found.violations, "\n"),
			shrink(b.t, b.schedule, b.template, b.found.seed, b.cut), b.t.Name(), b.found.seed, chosen())
	}
	line := fmt.Sprintf("sim: %d schedules from %d in %s, %s, %d violations", b.done.Load(), b.first, time.Since(b.began).Round(100*time.Millisecond), b.rate(), violations)
	b.t.Log(line)
	if *progress {
		fmt.Fprintln(os.Stderr, line)
	}
}

// mustMeet is what any large number of schedules must contain; a simulation in which it never
// happens proves nothing about it.
var mustMeet = []string{"crash before", "crash after", "not done, no answer", "done, reply lost", "message doubled", "message delayed", "message lost", "paused",
	"request landed again later", "lost in a body", "lost in a model call", "lost in a hook", "bodies side by side", "bodies begun beside others", "abandoned", "message.queued", "answered late", "timed out",
	"decided with edited arguments", "decided for the whole run", "decided by message", "decided in vain", "suspended as approval", "suspended as client",
	"suspended as input", "suspended as interrupt", "suspended as unknown_outcome", "ended cancelled", "ended error model_error", "outage", "ended error model_unavailable", "message in an outage", "cancel in an outage", "retried", "finished", "over budget",
	"step.reset", "made way", "memory.failed", "not_a_starter", "not_an_approver", "separation_of_duties", "misfits", "answered by a link", "trespasses", "twins", "went on", "agreed with one that is held"}

const enoughToMeet = 10_000

// chosen are the flags that make another schedule of a seed.
func chosen() (flags string) {
	if *large {
		flags += " -sim.large"
	}
	if *onSQLite {
		flags += " -sim.sqlite"
	}
	if *onDynamo {
		flags += " -sim.dynamo"
	}
	return flags
}

// schedule plays one seed. One whose callers only decide, each in one way, is played again without
// faults: both must come to the same conversation (I-9).
func schedule(t *testing.T, template func() []byte, seed uint64, c cut) (met map[string]int, wrong []string) {
	defer func() {
		if p := recover(); p != nil {
			wrong = []string{fmt.Sprintf("seed %d: %v", seed, p)}
		}
	}()
	p := planOf(seed)
	s := play(t, template, seed, p, c)
	if c.happened != nil {
		maps.Copy(c.happened, s.w.Happened())
	}
	if p.calm {
		calm := play(t, template, seed, c.of(p).quiet(), cut{})
		for i := range s.threads {
			if a, b := conversation(s, i), conversation(calm, i); !slices.Equal(a, b) {
				s.wrong("I-9: thread %d: %s", i, firstDifference(a, b))
			}
		}
		s.violations = append(s.violations, calm.violations...)
	}
	if seed%electionEvery == 0 && c.flaw == nil {
		met, wrong := elect(t.Context(), seed, c.of(p))
		for kind, n := range met {
			s.faults.Counts[kind] += n
		}
		s.violations = append(s.violations, wrong...)
	}
	if seed%treesEvery == 0 && c.flaw == nil && c.reader == nil {
		_, wrong := growTree(t, template, seed, cut{without: c.without})
		s.violations = append(s.violations, wrong...)
	}
	s.faults.Counts["operations"] = int(s.faults.Ops)
	s.faults.Counts["bodies"] = len(s.cast.executions)
	s.faults.Counts["bodies side by side"] = s.cast.together
	return s.faults.Counts, s.violations
}

func firstDifference(with, without []string) string {
	for i := range min(len(with), len(without)) {
		if with[i] != without[i] {
			return fmt.Sprintf("message %d is, with faults,\n\t%s\nand without\n\t%s", i, with[i], without[i])
		}
	}
	return fmt.Sprintf("%d messages with faults, %d without", len(with), len(without))
}

var unlimited = plans.Limits{BodyTries: 1 << 30, Claims: 1 << 30, ModelTries: 1 << 30, Calls: 64, Outage: 1 << 60}
