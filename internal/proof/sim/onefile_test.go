package sim_test

import (
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// TestOneFile plays schedules on SQLite whose releases bring along what they ask of the queue. The
// replies of many commits get lost, and they are repeated when the run has an owner again and
// signals have come.
func TestOneFile(t *testing.T) {
	n := min(*seeds, oneFiles)
	if testing.Short() {
		n = min(n, uint64(effort.Of(0, 40)))
	}
	b := newBatch(t, n, cut{without: []simplification{{"store and queue are one file", oneFile}}})
	b.schedule, b.mustMeet = playOneFile, []string{"went on", "crash before", "crash after", "done, reply lost", "request landed again later", "message.queued"}
	b.play()
}

func oneFile(p *plan) {
	p.sqlite, p.dynamo, p.joint, p.written = true, false, true, false
	p.rate, p.late, p.unheard = max(p.rate, 0.03), max(p.late, 0.1), 4
	p.endpoints, p.crowded, p.workers = 0, false, max(p.workers, 2)
	p.threads, p.runs, p.rivals, p.acts, p.turns = 1, max(p.runs, 2), max(p.rivals, 2), max(p.acts, 4), max(p.turns, 3)
	p.long = max(p.long, 0.3)
}

func playOneFile(t *testing.T, template func() []byte, seed uint64, c cut) (met map[string]int, wrong []string) {
	defer func() {
		if p := recover(); p != nil {
			wrong = []string{fmt.Sprintf("seed %d: %v", seed, p)}
		}
	}()
	s := play(t, template, seed, planOf(seed), c)
	s.faults.Counts["operations"] = int(s.faults.Ops)
	return s.faults.Counts, s.violations
}
