package sim_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

var (
	storyAt    = flag.String("story.at", "", "crash points: NUMBER:KIND, joined by commas, in place of all")
	storySeed  = flag.Uint64("story.seed", 1, "the order of things in TestCrashPoints, and the first one in TestStories")
	storySeeds = flag.Uint64("story.seeds", 12, "how many orders TestStories plays")
	storyPairs = flag.String("story.pairs", "some", "pairs of crashes of short stories: some, all or none")
	storyTrace = flag.Bool("story.trace", false, "tell what happens even if nothing is wrong")
)

// faultNames are the kinds of fault as they are written on a command line.
var faultNames = map[string]string{"crash-before": sim.CrashBefore, "crash-after": sim.CrashAfter,
	"no-answer": sim.NoAnswer, "lost-reply": sim.LostReply}

// TestStories plays every script of testdata/stories without faults, in several orders.
func TestStories(t *testing.T) {
	for _, s := range allStories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for seed := *storySeed; seed < *storySeed+*storySeeds; seed++ {
				p := perform(t.Context(), s, seed, nil, tracing(t))
				for _, m := range s.setting.mischief {
					if p.done[m.said] == 0 {
						p.wrong("never happened: %s", m.said)
					}
				}
				if !p.held(t) {
					return
				}
			}
		})
	}
}

// tally counts what was played.
type tally struct{ stories, points, pairs atomic.Int64 }

// TestCrashPoints plays every story again and again, each time with one fault: at each of its
// operations, of each kind; short ones also with each pair of crashes. The end must be right
// whatever happens on the way.
func TestCrashPoints(t *testing.T) {
	var all tally
	for _, s := range allStories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			all.stories.Add(1)
			crashEverywhere(t, s, &all)
		})
	}
	t.Cleanup(func() {
		t.Logf("stories: %d stories, %d crash points, %d pairs", all.stories.Load(), all.points.Load(), all.pairs.Load())
	})
}

func allStories(t *testing.T) []*script {
	all, err := readStories("testdata/stories")
	if err == nil && len(all) == 0 {
		err = errors.New("there is no story in testdata/stories")
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func crashEverywhere(t *testing.T, s *script, all *tally) {
	if *storyAt != "" {
		points, err := readPoints(*storyAt)
		if err != nil {
			t.Fatal(err)
		}
		perform(t.Context(), s, *storySeed, points, tracing(t)).held(t)
		return
	}
	first := perform(t.Context(), s, *storySeed, nil, tracing(t))
	if !first.held(t) {
		return
	}
	bad := 0
	every := int64(effort.Of(storyEvery, 16))
	for k := int64(1); k <= first.faults.Ops && bad < mostBad; k += every {
		for _, kind := range slices.Sorted(maps.Values(faultNames)) {
			p := perform(t.Context(), s, *storySeed, map[int64]string{k: kind}, nil)
			all.points.Add(1)
			if !p.held(t) {
				bad++
			}
			if first.faults.Ops <= shortStory && every == 1 && (kind == sim.CrashBefore || kind == sim.CrashAfter) && bad == 0 {
				bad += pairsWith(t, s, k, kind, p.faults.Ops, all)
			}
		}
	}
	t.Logf("%d operations", first.faults.Ops)
}

const (
	mostBad    = 3  // failures of one story that are told
	shortStory = 60 // operations of a story that is played with pairs of crashes
	thin       = 41 // one pair of so many is played if not all are
)

// pairsWith plays each pair of crashes that begins with one, up to the last operation that there
// was with that one alone.
func pairsWith(t *testing.T, s *script, k int64, kind string, ops int64, all *tally) (bad int) {
	for second := k + 1; second <= ops && *storyPairs != "none"; second++ {
		for _, other := range []string{sim.CrashBefore, sim.CrashAfter} {
			if *storyPairs == "some" && (k*7+second*3)%thin != 0 {
				continue
			}
			all.pairs.Add(1)
			if !perform(t.Context(), s, *storySeed, map[int64]string{k: kind, second: other}, nil).held(t) {
				return 1
			}
		}
	}
	return 0
}

func readPoints(said string) (map[int64]string, error) {
	points := map[int64]string{}
	for _, one := range strings.Split(said, ",") {
		number, kind, _ := strings.Cut(one, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || faultNames[kind] == "" {
			return nil, fmt.Errorf("%q is no crash point: NUMBER:KIND, where KIND is one of %v", one, slices.Sorted(maps.Keys(faultNames)))
		}
		points[n] = faultNames[kind]
	}
	return points, nil
}

func tracing(t *testing.T) func(string) {
	if !*storyTrace && *storyAt == "" {
		return nil
	}
	return func(line string) { t.Log(line) }
}

// held says whether all is right; if not, it tells what is wrong, and how to see it again.
func (p *performance) held(t *testing.T) bool {
	if len(p.wrongs) == 0 {
		return true
	}
	var points []string
	for _, n := range slices.Sorted(maps.Keys(p.points)) {
		for name, kind := range faultNames {
			if kind == p.points[n] {
				points = append(points, fmt.Sprintf("%d:%s", n, name))
			}
		}
	}
	test, at := "TestStories", "-story.trace -story.seeds 1"
	if len(points) > 0 {
		test, at = "TestCrashPoints", "-story.at "+strings.Join(points, ",")
	}
	t.Errorf("%s: %s\nseed %d, %s\n%s\n%s\nagain with: go test ./internal/proof/sim -run '%s/^%s$' %s -story.seed %d", p.file, p.title, p.seed,
		strings.Join(points, ", "), strings.Join(p.wrongs, "\n"), p.trace(t), test, p.name, at, p.seed)
	return false
}

// trace plays it once more, and is what happened, one line for each thing.
func (p *performance) trace(t *testing.T) string {
	var lines []string
	perform(t.Context(), p.script, p.seed, p.points, func(line string) { lines = append(lines, line) })
	return strings.Join(lines, "\n")
}
