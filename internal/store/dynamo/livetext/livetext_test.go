package livetext

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

func TestNothingIsStoredWhileNoOneWatches(t *testing.T) {
	r := newRig(t)
	r.step.Seen(r.head, time.Unix(0, 0)) // a head without a mark
	a := attemptOf(3, 0)
	r.step.Begin(a)
	for n := range 20 {
		r.say(a, core.TextPart, 5*n, "word ")
		r.clock.Advance(time.Second)
	}
	if n := r.requests(); n != 0 {
		t.Fatalf("%d requests", n)
	}
	r.watch(time.Minute) // all of it is written once someone does
	r.clock.Advance(pause)
	if n := r.requests(); n != 1 {
		t.Errorf("%d requests for what was said before", n)
	}
	r.wantHeard(r.stream, a, "", words(20))
	r.clock.Advance(time.Minute)
	r.double.ResetCounts()
	r.say(a, core.TextPart, 100, "too late")
	r.clock.Advance(time.Minute)
	if n := r.requests(); n != 0 {
		t.Errorf("%d requests after the reader has left", n)
	}
}

func TestReadersHearWhatAStepSays(t *testing.T) {
	r := newRig(t)
	r.watch(time.Hour)
	a := attemptOf(3, 0)
	r.step.Begin(a)
	r.say(a, core.ReasoningPart, 0, "Hm. ")
	r.clock.Advance(firstPause)
	r.wantHeard(r.stream, a, "Hm. ", "")
	r.say(a, core.ReasoningPart, 4, "Well.")
	r.say(a, core.TextPart, 0, "Zürich")
	r.wantHeard(r.stream, a, "Hm. Well.", "Zürich")
	r.step.Note(a, engine.Note{Version: 1, Call: core.ToolCall{ID: "c1", Name: "pay"}, At: 5})
	r.step.Note(a, engine.Note{Version: 2, Call: core.ToolCall{ID: "c1", Name: "pay"}, At: 6, Progress: &engine.Progress{Done: 1, Total: 2, Text: "half"}})
	r.heard(r.stream)
	r.step.Note(a, engine.Note{Version: 3, Call: core.ToolCall{ID: "c1", Name: "pay"}, At: 7, Progress: &engine.Progress{Done: 2, Total: 2}})
	for name, reader := range map[string]*Text{"a reader of before": r.stream, "a reader who comes late": r.process()} {
		r.wantHeard(reader, a, "Hm. Well.", "Zürich")
		s := r.heard(reader)
		if len(s.Notes) != 2 || s.Notes[0].Version != 1 || s.Notes[0].Call.Name != "pay" || s.Notes[1].Version != 3 || s.Notes[1].Progress.Done != 2 || s.Notes[1].At != 7 {
			t.Errorf("%s: notes %+v", name, s.Notes)
		}
	}
}

// An attempt is void once another begins: after a restart of the model, and under a later claim.
func TestReadersHearTheNewestAttemptAlone(t *testing.T) {
	r := newRig(t)
	r.watch(time.Hour)
	first, again, other := attemptOf(3, 0), attemptOf(3, 1), attemptOf(4, 0)
	r.step.Begin(first)
	r.say(first, core.TextPart, 0, "first")
	r.clock.Advance(firstPause)
	r.wantHeard(r.stream, first, "", "first")
	r.step.End(first)
	r.step.Begin(again)
	r.say(first, core.TextPart, 5, " and more")
	r.say(again, core.TextPart, 0, "again")
	r.clock.Advance(firstPause)
	r.wantHeard(r.stream, again, "", "again")
	taken := r.process() // over the run of a step that is frozen
	taken.Seen(r.head, r.clock.Now().Add(time.Hour))
	taken.Begin(other)
	taken.Say(other, engine.Piece{Kind: core.TextPart, Text: "other"})
	r.clock.Advance(firstPause)
	r.wantHeard(r.stream, other, "", "other")
	r.say(again, core.TextPart, 5, ", not frozen any more")
	r.clock.Advance(pause)
	r.wantHeard(r.stream, other, "", "other")
	r.wantHeard(r.process(), other, "", "other")
	if s, there := r.stream.Spoken(t.Context(), "acme", "thr_b"); there {
		t.Errorf("another thread says %+v", s)
	}
}

// The end of an attempt comes with its commit, so that a short answer costs no item.
func TestAShortAnswerIsNotStored(t *testing.T) {
	r := newRig(t)
	r.watch(time.Hour)
	a := attemptOf(3, 0)
	r.step.Begin(a)
	r.say(a, core.TextPart, 0, "Done.")
	r.clock.Advance(firstPause / 2)
	r.step.End(a)
	r.clock.Advance(time.Minute)
	if n := r.requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A write that fails, or whose answer is lost, is not repeated: the next item has its text.
func TestAFailedWriteLosesNoText(t *testing.T) {
	for name, fault := range map[string]awsdouble.Fault{"throttled": awsdouble.Throttle(), "answer lost": awsdouble.LoseReply(), "request lost": awsdouble.LoseRequest(), "denied": awsdouble.Deny()} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.watch(time.Hour)
			a := attemptOf(3, 0)
			r.step.Begin(a)
			r.say(a, core.TextPart, 0, "one ")
			r.clock.Advance(firstPause)
			repair := r.fail("PutItem", fault)
			r.say(a, core.TextPart, 4, "two ")
			r.clock.Advance(pause)
			r.heard(r.stream)
			repair()
			r.say(a, core.TextPart, 8, "three")
			r.clock.Advance(10 * pause)
			r.wantHeard(r.stream, a, "", "one two three")
			r.wantHeard(r.process(), a, "", "one two three")
		})
	}
}

func TestAStepWhoseWritesFailIsSilent(t *testing.T) {
	r := newRig(t)
	r.watch(time.Hour)
	r.fail("PutItem", awsdouble.Throttle())
	a := attemptOf(3, 0)
	r.step.Begin(a)
	for n := range 600 {
		r.say(a, core.TextPart, 5*n, "word ")
		r.clock.Advance(time.Second)
	}
	if n := r.requests(); n != mostFailures {
		t.Errorf("%d requests, want %d", n, mostFailures)
	}
}

// A failed read shows what was heard before: a reader takes nothing back for it.
func TestAFailedReadTakesNothingBack(t *testing.T) {
	r := newRig(t)
	r.watch(time.Hour)
	a := attemptOf(3, 0)
	r.step.Begin(a)
	r.say(a, core.TextPart, 0, "one ")
	r.clock.Advance(firstPause)
	r.wantHeard(r.stream, a, "", "one ")
	repair := r.fail("Query", awsdouble.Throttle())
	r.say(a, core.TextPart, 4, "two")
	r.wantHeard(r.stream, a, "", "one ")
	repair()
	r.wantHeard(r.stream, a, "", "one two")
}

// A stream of a run that waits for a person reads nothing more than the head.
func TestAReaderOfARunThatWaitsReadsNoItems(t *testing.T) {
	r := newRig(t)
	waiting := r.head
	waiting.Status, waiting.Lease = core.RunWaiting, 0
	look := func(h core.Head) {
		for range 20 {
			r.clock.Advance(time.Second)
			r.stream.Spoken(t.Context(), "acme", "thr_a")
			r.stream.Seen(h, time.Unix(0, 0))
		}
	}
	look(waiting)
	if n := r.requests(); n != 1 { // before it knows the head
		t.Errorf("%d requests", n)
	}
	changed, stop := r.stream.Watch("acme", "thr_a")
	defer stop()
	select {
	case <-changed:
		t.Error("there is nothing to look for")
	default:
	}
	r.double.ResetCounts()
	look(r.head)
	if n := r.requests(); n != 19 {
		t.Errorf("%d requests while a step is in progress", n)
	}
	select {
	case <-changed:
	default:
		t.Error("no signal")
	}
}

func TestWhatIsKeptOfAnAttemptIsBounded(t *testing.T) {
	r := newRig(t)
	r.watch(time.Hour)
	a := attemptOf(3, 0)
	r.step.Begin(a)
	piece := strings.Repeat("ü", 500)
	for n := range 2 * mostSaid / len(piece) {
		r.say(a, core.TextPart, n*len(piece), piece)
	}
	r.clock.Advance(time.Minute)
	if s := r.heard(r.stream); len(s.Text) > mostSaid || len(s.Text) < mostSaid-len(piece) || strings.Trim(s.Text, "ü") != "" {
		t.Errorf("%d bytes were heard", len(s.Text))
	}
	for n := range 3 * mostKnown {
		h := r.head
		h.Thread = fmt.Sprint("thr_", n)
		r.step.Seen(h, time.Unix(0, 0))
		if n < 2*mostHeard {
			r.stream.Spoken(t.Context(), "acme", h.Thread)
		}
	}
	if len(r.step.heads) > mostKnown+1 || len(r.stream.heard) > mostHeard {
		t.Errorf("%d heads and %d threads are kept", len(r.step.heads), len(r.stream.heard))
	}
}

func TestNamesDoNotMix(t *testing.T) {
	seen := map[string]place{}
	for _, p := range []place{{"a", "b#c"}, {"a#b", "c"}, {"a%23b", "c"}, {"", "a#b#c"}, {"a", "b%23c"}, {"a\xff", "b"}, {"a\ufffd", "b"}} {
		pk := p.partition()
		if other, twice := seen[pk]; twice || strings.Count(pk, "#") != 2 {
			t.Errorf("%q is the partition of %q and %q", pk, p, other)
		}
		seen[pk] = p
	}
}

func TestAHeadIsMarkedOnceAMinute(t *testing.T) {
	r := newRig(t)
	marked := 0
	var until time.Time
	mark := r.stream.Marker(func(_ context.Context, tenant, thread string, to time.Time) error {
		if tenant != "acme" || thread != "thr_a" {
			t.Errorf("marked %s %s", tenant, thread)
		}
		marked++
		until = to
		return nil
	})
	opens := func(id string, want int) {
		t.Helper()
		marked = 0
		mark(t.Context(), "acme", id)
		if marked != want {
			t.Errorf("%d marks, want %d", marked, want)
		}
	}
	opens("run_a_0", 1)
	if left := until.Sub(r.clock.Now()); left != 4*time.Minute {
		t.Errorf("marked for %v", left)
	}
	r.stream.Seen(r.head, until)
	opens("run_a_0", 0)
	opens("thr_a", 0)
	r.clock.Advance(spareLife)
	opens("run_a_0", 0)
	r.clock.Advance(time.Second)
	opens("thr_a", 1)
	done := r.head
	done.Status = core.RunDone
	r.stream.Seen(done, time.Unix(0, 0))
	opens("run_a_0", 0)
	opens("run_a_1", 1) // a later one
	opens("thr_a", 1)
}

func TestAMarkThatFailsStopsNoReader(t *testing.T) {
	r := newRig(t)
	r.stream.Marker(func(ctx context.Context, _, _ string, _ time.Time) error {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("a mark may take for ever")
		}
		return errors.New("throttled")
	})(t.Context(), "acme", "run_a_0")
}
