package sim_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// cut is what is left out of a schedule. The zero cut leaves it as its seed made it.
type cut struct {
	without  []simplification
	vetoed   map[event]bool
	happened map[string]int // how many events of each kind there were; filled if it is there
	tell     func(line string)
	flaw     func(*halved) sim.FullStore // not left out, but put in: what a store does wrong
	reader   *reader                     // put in as well: it reads all events at the end
}

// event is the n-th of those of its kind that need not happen.
type event struct {
	kind string
	n    int
}

// simplification is something that a schedule may do without.
type simplification struct {
	words string
	of    func(*plan)
}

var simplifications = []simplification{
	{"no late copies", func(p *plan) { p.late = 0 }},
	{"nobody stands still", func(p *plan) { p.pause = 0 }},
	{"no crashes and no lost requests", func(p *plan) { p.rate = 0 }},
	{"no skew", func(p *plan) { p.skew = 0 }},
	{"no jumps of clocks", func(p *plan) { p.jumps = 0 }},
	{"one worker", func(p *plan) { p.workers = 1 }},
	{"two workers", func(p *plan) { p.workers = min(p.workers, 2) }},
	{"one thread", func(p *plan) { p.threads = 1 }},
	{"no favourite tool", func(p *plan) { p.favourite = "" }},
	{"one tenant", func(p *plan) { p.neighbour = nil }},
	{"everybody may start and approve", func(p *plan) { p.people.starters, p.people.approvers = circle{}, circle{} }},
	{"no separation of duties", func(p *plan) { p.people.duties = 0 }},
	{"everybody has a name", func(p *plan) { p.people.nameless = false }},
	{"one run", func(p *plan) { p.runs = 1 }},
	{"no rivals", func(p *plan) { p.rivals = 0 }},
	{"one rival of each sort", func(p *plan) { p.rivals = min(p.rivals, 1) }},
	{"no hooks", func(p *plan) { p.hooks = false }},
	{"no hooks that fail", func(p *plan) { p.hooksFail = false }},
	{"no memory", func(p *plan) { p.memory, p.terms.Memory = false, false }},
	{"long delivery lines", func(p *plan) { p.crowded = false }},
	{"no reminders", func(p *plan) { p.remind = nil }},
	{"no escalations", func(p *plan) { p.escalate = nil }},
	{"no deadlines", func(p *plan) { p.deadlines = false }},
	{"no run makes way", func(p *plan) { p.yields, p.terms.Yield = 0, false }},
	{"one call after the other", func(p *plan) { p.terms.Parallel = false }},
	{"short bodies", func(p *plan) { p.long = 0 }},
	{"no budgets", func(p *plan) { p.terms.StepCalls, p.terms.RunCalls = 0, 0 }},
	{"no stop rules", func(p *plan) { p.terms.Stops = nil }},
	{"an index that does not lag", func(p *plan) { p.lag = 0 }},
	{"one sweep, often", func(p *plan) { p.sweeps, p.period = 1, sweepPeriod }},
	{"one call a turn", func(p *plan) { p.calls = 1 }},
	{"one turn", func(p *plan) { p.turns = 1 }},
	{"long turns of each task", func(p *plan) { p.order = sim.LongTurns }},
}

func (c cut) of(p plan) plan {
	for _, s := range c.without {
		s.of(&p)
	}
	return p
}

func (c cut) veto(kind string, n int) bool { return c.vetoed[event{kind, n}] }

// mostTries bounds how often a schedule is played to make it smaller.
const mostTries = 1500

// shrink looks for a smaller schedule that is wrong as well, and tells what happens in it.
func shrink(t *testing.T, play player, template func() []byte, seed uint64, c cut) string {
	s := &shrinker{c: c, left: mostTries, whole: planOf(seed)}
	s.wrong = func(c cut) []string {
		_, wrong := play(t, template, seed, c)
		return wrong
	}
	s.about = about(s.wrong(c))
	s.plan()
	s.events()
	var lines []string
	s.c.tell = func(line string) { lines = append(lines, line) }
	wrong := s.wrong(s.c)
	return fmt.Sprintf("made smaller in %d tries: %s; %s\n%s\n%s", mostTries-s.left, s.words(), s.kept(), story(lines), strings.Join(wrong, "\n"))
}

// story is the end of what happened: the beginning of a long one is seldom why.
func story(lines []string) string {
	const most = 150
	if n := len(lines) - most; n > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", n)}, lines[n:]...)
	}
	return strings.Join(lines, "\n")
}

type shrinker struct {
	c     cut
	wrong func(cut) []string
	whole plan
	about string // what is wrong: another mistake is another story
	left  int
}

// about are the first words of what is wrong, without the seed and the time.
func about(wrong []string) string {
	if len(wrong) == 0 {
		return ""
	}
	_, what, _ := strings.Cut(wrong[0], ": ")
	return strings.Join(strings.Fields(what)[:min(2, len(strings.Fields(what)))], " ")
}

// try takes c if it is still wrong.
func (s *shrinker) try(c cut) bool {
	if s.left == 0 {
		return false
	}
	s.left--
	c.happened = map[string]int{}
	if wrong := s.wrong(c); len(wrong) == 0 || about(wrong) != s.about {
		return false
	}
	s.c = c
	return true
}

func (s *shrinker) plan() {
	for _, simple := range simplifications {
		c := s.c
		c.without = append(slices.Clone(c.without), simple)
		if !reflect.DeepEqual(c.of(s.whole), s.c.of(s.whole)) {
			s.try(c)
		}
	}
	s.try(s.c) // counts what happens now
}

// events leaves out as many as it can, all of a kind at once, then halves of the rest, then each.
func (s *shrinker) events() {
	for _, kind := range slices.Sorted(maps.Keys(s.c.happened)) {
		var all []event
		for n := range s.c.happened[kind] {
			all = append(all, event{kind, n + 1})
		}
		s.leaveOut(all)
	}
}

func (s *shrinker) leaveOut(some []event) {
	if len(some) == 0 {
		return
	}
	c := s.c
	c.vetoed = maps.Clone(c.vetoed)
	if c.vetoed == nil {
		c.vetoed = map[event]bool{}
	}
	for _, e := range some {
		c.vetoed[e] = true
	}
	if s.try(c) || len(some) == 1 {
		return
	}
	s.leaveOut(some[:len(some)/2])
	s.leaveOut(some[len(some)/2:])
}

func (s *shrinker) words() string {
	words := []string{"nothing could be left out of the plan"}
	for i, simple := range s.c.without {
		if i == 0 {
			words = nil
		}
		words = append(words, simple.words)
	}
	return strings.Join(words, ", ")
}

func (s *shrinker) kept() string {
	var kept []string
	for _, kind := range slices.Sorted(maps.Keys(s.c.happened)) {
		n := s.c.happened[kind]
		for e := range s.c.vetoed {
			if e.kind == kind && e.n <= s.c.happened[kind] {
				n--
			}
		}
		kept = append(kept, fmt.Sprintf("%d of %d %s", n, s.c.happened[kind], kind))
	}
	return "kept " + strings.Join(kept, ", ")
}

// doors is a store that does not look for signals that a closing commit has not seen: what rule K
// is for.
type doors struct{ *halved }

func (d doors) UpdateHead(req engine.CommitRequest) (engine.Written, error) {
	req.AllSeen = false
	return d.halved.UpdateHead(req)
}

func (d doors) Commit(_ context.Context, req engine.CommitRequest) (engine.Written, error) {
	return d.UpdateHead(req)
}

func TestWhatIsWrongIsFoundMadeSmallAndTold(t *testing.T) {
	c := cut{flaw: func(h *halved) sim.FullStore { return doors{h} }}
	began := time.Now()
	// 1 finds it in a short schedule, others in schedules of thousands of claims.
	for seed := uint64(1); seed < 20_000; seed++ {
		_, wrong := schedule(t, nil, seed, c)
		if len(wrong) == 0 {
			continue
		}
		told := shrink(t, schedule, nil, seed, c)
		if !strings.Contains(told, "commits revision") || !strings.Contains(told, "seed ") {
			t.Errorf("told:\n%s", told)
		}
		if again := shrink(t, schedule, nil, seed, c); again != told {
			t.Errorf("the second time it is told as\n%s\nand the first as\n%s", again, told)
		}
		t.Logf("found after %d schedules, %s:\n%s", seed, time.Since(began), told)
		return
	}
	t.Error("a store without rule K was not found out")
}
