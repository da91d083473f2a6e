package livetext

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

var seed = flag.Uint64("seed", 0, "seed of the random schedules; 0 for the usual ones")

// What readers hear of an attempt is always the beginning of what it said, and grows: whatever is
// lost, late or doubled, and whenever they come, leave and come again.
func TestReadersHearTheBeginningOfWhatWasSaid(t *testing.T) {
	from, n := uint64(1), 30
	if *seed != 0 {
		from, n = *seed, 1
	}
	heard := 0
	for s := from; s < from+uint64(n); s++ {
		w := &world{rig: newRig(t), random: rand.New(rand.NewPCG(s, 0)), said: map[engine.Attempt]string{}, shown: map[*Text]engine.Speech{}}
		w.play()
		heard += w.heardAll
		if t.Failed() {
			t.Fatalf("seed %d", s)
		}
	}
	if *seed == 0 && heard < n {
		t.Errorf("all of an attempt was heard %d times in %d schedules", heard, n)
	}
}

type world struct {
	*rig
	random   *rand.Rand
	attempt  engine.Attempt
	said     map[engine.Attempt]string
	readers  []*Text
	shown    map[*Text]engine.Speech
	heardAll int
}

func (w *world) play() {
	w.attempt = attemptOf(3, 0)
	w.watch(time.Hour)
	w.step.Begin(w.attempt)
	for range 300 {
		w.act()
		for w.random.IntN(3) == 0 {
			w.clock.Advance(time.Duration(w.random.IntN(200)) * time.Millisecond)
		}
	}
	w.double.Fail(nil)
	w.double.Release()
	w.clock.Advance(2 * longestPause)
	for _, reader := range append(w.readers, w.process()) {
		w.look(reader)
		if s := w.shown[reader]; s.Attempt == w.attempt && s.Text == w.said[w.attempt] {
			w.heardAll++
		}
	}
}

func (w *world) act() {
	switch n := w.random.IntN(40); {
	case n < 20:
		text := strings.Repeat(string(rune('a'+w.random.IntN(26)))+"ü", w.random.IntN(30))
		w.step.Say(w.attempt, engine.Piece{Kind: core.TextPart, Offset: len(w.said[w.attempt]), Text: text})
		w.said[w.attempt] += text
	case n < 30 && len(w.readers) > 0:
		w.look(w.readers[w.random.IntN(len(w.readers))])
	case n < 32:
		w.readers = append(w.readers, w.process())
	case n < 36:
		faults := []awsdouble.Fault{awsdouble.Throttle(), awsdouble.LoseReply(), awsdouble.LoseRequest(), awsdouble.Hold(), awsdouble.Copy(), {}, {}}
		fault := faults[w.random.IntN(len(faults))]
		w.double.Fail(func(awsdouble.Call) awsdouble.Fault { return fault })
	case n == 36:
		w.double.Release() // what was late
	case n == 37:
		w.step.End(w.attempt)
		w.attempt.Restart++
		w.step.Begin(w.attempt)
	case n == 38:
		// by another process: the step before says nothing any more
		w.attempt = attemptOf(w.attempt.Epoch+1, 0)
		w.step = w.process()
		w.head.Epoch++
		w.watch(time.Hour)
		w.step.Begin(w.attempt)
	case n == 39:
		w.watch(time.Duration(w.random.IntN(2)) * time.Hour)
	}
}

// look shows a reader what there is, and holds that against what was said.
func (w *world) look(reader *Text) {
	s, there := reader.Spoken(w.Context(), "acme", "thr_a")
	if !there {
		return
	}
	before := w.shown[reader]
	w.shown[reader] = s
	name := fmt.Sprintf("%d.%d", s.Epoch, s.Restart)
	switch all, known := w.said[s.Attempt]; {
	case !known && s.Text != "":
		w.Errorf("%s was never said, and is heard: %q", name, s.Text)
	case !strings.HasPrefix(all, s.Text):
		w.Errorf("%s has said %q; heard: %q", name, all, s.Text)
	case s.Attempt == before.Attempt && !strings.HasPrefix(s.Text, before.Text):
		w.Errorf("%s: %q was heard, then %q", name, before.Text, s.Text)
	case s.Epoch < before.Epoch || s.Epoch == before.Epoch && s.Restart < before.Restart:
		w.Errorf("%s is heard after %d.%d", name, before.Epoch, before.Restart)
	}
}
