package sim_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// TestEvents reads every event of many simulated runs as callers see them. Each event matches the
// schema that the API document has for its type, events follow one another as
// docs/reference/events.md says, and each word of the closed lists occurs, or is excused with a
// reason.
func TestEvents(t *testing.T) {
	r := &reader{met: map[string]int{}}
	b := newBatch(t, 1<<32, cut{reader: r, without: []simplification{{"more is asked and declined, and bodies are slow more often", busier}}})
	b.enough = func() bool { return r.read() >= effort.Of(eventRuns, 150) }
	b.play()
	for _, word := range slices.Sorted(maps.Keys(r.met)) {
		t.Logf("%8d %s", r.met[word], word)
	}
	if b.found == nil && r.runs >= enoughToMeet {
		r.metAll(t)
	}
}

// busier makes a plan meet more of what events tell of.
func busier(p *plan) {
	p.runs += 3
	if !p.calm {
		p.declines, p.pause = true, max(p.pause, 0.04)
	}
}

// reader adds up what the events of many schedules said.
type reader struct {
	mu   sync.Mutex
	met  map[string]int
	runs int
}

func (r *reader) read() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs
}

func (r *reader) add(s *stage) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for word, n := range s.met {
		r.met[word] += n
	}
	r.runs += s.met["event run.started"]
}

// noTrees is the reason of words that are about runs below others.
const noTrees = "these schedules have no agents that call agents"

// unmet are the words that no simulated run meets, each with the reason.
var unmet = map[string]string{
	"event text.delta":      "live: simulated models answer at once",
	"event reasoning.delta": "live: simulated models answer at once",
	"event reasoning.ended": "simulated models don't think aloud",
	"event call.progress":   "live: simulated tools don't say how far they are",

	"outcome not_offered": "simulated hooks leave no tool out",
	"outcome blocked":     "no simulated gate blocks",
	"outcome set_by_rule": "no simulated gate gives a result",

	"turn ended done blocked":            "no simulated gate blocks",
	"turn ended done behavior_requested": "simulated hooks end no run",

	"cause error": "no simulated agent is gone for good while its run waits",

	"event child.started":           noTrees,
	"event remote.started":          noTrees,
	"event remote.ended":            noTrees,
	"activation waiting_for_remote": noTrees,
	"event child.ended":             noTrees,
	"event continue.recorded":       noTrees,
	"outcome child_failed":          noTrees,
	"outcome child_stopped":         noTrees,
	"outcome child_blocked":         noTrees,
	"outcome child_cancelled":       noTrees,
	"outcome child_unavailable":     noTrees,
	"outcome child_lost":            noTrees,
	"cause child":                   noTrees,

	"activation suspended_awaiting_children": noTrees,
}

// metAll demands that each word of a closed list was met, or is excused.
func (r *reader) metAll(t *testing.T) {
	t.Helper()
	var words []string
	for kind := range wire.EventData {
		words = append(words, "event "+kind)
	}
	words = append(words, prefixed("outcome ", core.CallOutcomes, func(w core.CallOutcomeWord) string { return string(w.Outcome) })...)
	words = append(words, prefixed("cause ", core.TurnCauses, func(c core.TurnCause) string { return string(c) })...)
	words = append(words, prefixed("checkpoint ", core.Checkpoints, func(c core.Checkpoint) string { return string(c) })...)
	words = append(words, prefixed("activation ", events.ActivationOutcomes, strings.Clone)...)
	words = append(words, "turn ended suspended")
	for _, k := range []core.ReasonKind{core.NaturalEnd, core.BehaviorRequested, core.Stopped, core.Cancelled, core.Blocked, core.Failed} {
		words = append(words, "turn ended done "+k.String())
	}
	for _, word := range words {
		why := unmet[word]
		if n := r.met[word]; (n == 0) == (why == "") {
			t.Errorf("in %d runs there was %d times: %s; excused as: %q", r.runs, n, word, why)
		}
	}
	for word, why := range unmet {
		if why != noTrees && !slices.Contains(words, word) { // some have no schema yet
			t.Errorf("%q is excused, and no word of a closed list", word)
		}
	}
}

func prefixed[T any](prefix string, list []T, word func(T) string) (words []string) {
	for _, one := range list {
		words = append(words, prefix+word(one))
	}
	return words
}
