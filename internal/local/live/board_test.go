package live

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

func newBoard() *Board { return NewBoard(enginetest.NewClock(time.UnixMilli(5000))) }

func attempt(epoch int64, restart int) engine.Attempt {
	return engine.Attempt{Tenant: "t", Thread: "thr", Run: "run", Epoch: epoch, Restart: restart, Seq: 4, Event: 9}
}

func say(b *Board, a engine.Attempt, offset int, text string) {
	b.Say(a, engine.Piece{Kind: core.TextPart, Offset: offset, Text: text})
}

func wantSpoken(t *testing.T, b *Board, want string) {
	t.Helper()
	said, there := b.Spoken(t.Context(), "t", "thr")
	if got := said.Reasoning + "|" + said.Text; there != (want != "") || there && got != want {
		t.Errorf("spoken: %v %.300q, want %.300q", there, got, want)
	}
}

func TestABoardShowsAllThatTheNewestAttemptHasSaid(t *testing.T) {
	b := newBoard()
	wantSpoken(t, b, "")
	say(b, attempt(3, 0), 0, "nobody began")
	wantSpoken(t, b, "")
	b.Begin(attempt(3, 0))
	wantSpoken(t, b, "|")
	say(b, attempt(3, 0), 0, "one ")
	b.Say(attempt(3, 0), engine.Piece{Kind: core.ReasoningPart, Text: "hm"})
	say(b, attempt(3, 0), 4, "two")
	wantSpoken(t, b, "hm|one two")
	b.Begin(attempt(3, 1))
	say(b, attempt(3, 0), 7, " three")
	say(b, attempt(3, 1), 0, "new")
	wantSpoken(t, b, "|new")
	b.Begin(attempt(4, 0))
	say(b, attempt(4, 0), 0, "newer")
	b.Begin(attempt(3, 2)) // by an owner that was lost and does not know
	say(b, attempt(3, 2), 0, "old")
	b.End(attempt(3, 2))
	wantSpoken(t, b, "|newer")
	b.End(attempt(4, 0))
	wantSpoken(t, b, "")
	if said, there := b.Spoken(t.Context(), "another", "thr"); there {
		t.Errorf("another tenant hears %+v", said)
	}
}

func TestABoardWhoseTextHasAGapTakesNoMore(t *testing.T) {
	b := newBoard()
	b.Begin(attempt(1, 0))
	say(b, attempt(1, 0), 0, "one")
	say(b, attempt(1, 0), 4, "three")
	say(b, attempt(1, 0), 3, "two")
	wantSpoken(t, b, "|one")
}

func TestABoardIsBounded(t *testing.T) {
	b := newBoard()
	b.Begin(attempt(1, 0))
	piece := strings.Repeat("x", 1000)
	for i := range 2 * threadBytes / len(piece) {
		say(b, attempt(1, 0), i*len(piece), piece)
	}
	if said, _ := b.Spoken(t.Context(), "t", "thr"); len(said.Text) > threadBytes || len(said.Text) < threadBytes-len(piece) {
		t.Errorf("%d bytes of a thread are kept", len(said.Text))
	}
	for i := range 2 * threads {
		a := attempt(1, 0)
		a.Thread = strconv.Itoa(i)
		b.Begin(a)
		say(b, a, 0, "hi")
	}
	if n := len(b.speaking); n != threads {
		t.Errorf("%d threads speak", n)
	}
	b.Begin(attempt(2, 0)) // a thread that has its place keeps it
	say(b, attempt(2, 0), 0, "again")
	wantSpoken(t, b, "|again")
}

func TestABoardTellsItsWatchersOfEveryChange(t *testing.T) {
	b := newBoard()
	changed, stop := b.Watch("t", "thr")
	told := func(want bool, after string) {
		t.Helper()
		got := false
		select {
		case <-changed:
			got = true
		default:
		}
		if got != want {
			t.Errorf("after %s: told %v", after, got)
		}
	}
	told(false, "nothing")
	b.Begin(attempt(1, 0))
	told(true, "begin")
	say(b, attempt(1, 0), 0, "a")
	say(b, attempt(1, 0), 1, "b")
	told(true, "two pieces")
	told(false, "having been told")
	say(b, attempt(9, 0), 2, "c")
	told(false, "a piece of nobody's")
	b.End(attempt(1, 0))
	told(true, "the end")
	stop()
	b.Begin(attempt(2, 0))
	told(false, "having left")
	if len(b.watchers) > 0 {
		t.Errorf("watchers: %v", b.watchers)
	}
}

func TestABoardKeepsOfEachCallThatItBeganAndHowFarItIs(t *testing.T) {
	b, a := newBoard(), attempt(3, 0)
	pay, find := core.ToolCall{ID: "c1", Name: "pay"}, core.ToolCall{ID: "c2", Name: "find"}
	b.Note(a, engine.Note{Version: 1, Call: pay})
	if _, there := b.Spoken(t.Context(), "t", "thr"); there {
		t.Error("a note of an attempt that did not begin is kept")
	}
	b.Begin(a)
	b.Note(a, engine.Note{Version: 1, Call: pay})
	b.Note(a, engine.Note{Version: 2, Call: pay, Progress: &engine.Progress{Done: 1}})
	b.Note(a, engine.Note{Version: 3, Call: find})
	before, _ := b.Spoken(t.Context(), "t", "thr")
	b.Note(a, engine.Note{Version: 4, Call: pay, Progress: &engine.Progress{Done: 2}})
	b.Note(attempt(2, 0), engine.Note{Version: 9, Call: pay})
	versions := func(s engine.Speech) (all []int) {
		for _, n := range s.Notes {
			all = append(all, n.Version)
		}
		return all
	}
	after, _ := b.Spoken(t.Context(), "t", "thr")
	if got := versions(after); !slices.Equal(got, []int{1, 3, 4}) {
		t.Errorf("notes %v", got)
	}
	if got := versions(before); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("what a reader was given has changed to %v", got)
	}
	b.End(a)
	if _, there := b.Spoken(t.Context(), "t", "thr"); there {
		t.Error("the notes outlive their attempt")
	}
}
