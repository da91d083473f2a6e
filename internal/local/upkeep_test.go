package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// troubled is a store's file with a trouble, until it has been repaired and probed.
type troubled struct {
	trouble  txfile.Trouble
	repaired bool
	far      bool
	whole    int
	recalled []time.Duration
	refuses  error
}

func (f *troubled) Look() error { return nil }

func (f *troubled) Trouble() (txfile.Trouble, error) {
	if f.trouble == txfile.NoTrouble {
		return f.trouble, nil
	}
	return f.trouble, errors.New("the cause")
}

func (f *troubled) Probe(context.Context) error {
	if !f.repaired {
		return engine.ErrDisk
	}
	f.trouble = txfile.NoTrouble
	return nil
}

func (f *troubled) Recheck(context.Context) error {
	if f.trouble == txfile.Damaged && f.repaired {
		f.trouble = txfile.NoTrouble
	}
	return nil
}

func (f *troubled) FarAhead(_ context.Context, whole bool) (bool, error) {
	if whole {
		f.whole++
	}
	return f.far, nil
}

func (f *troubled) Recall(_ context.Context, by time.Duration) (int, error) {
	if f.refuses != nil {
		return 0, f.refuses
	}
	f.recalled, f.far = append(f.recalled, by), false
	return 1, nil
}

// wall shows the time that was set.
type wall struct {
	*enginetest.Clock
	set *time.Duration
}

func (w wall) Now() time.Time { return w.Clock.Now().Add(*w.set) }

func newUpkeep(f *troubled) (*upkeep, *lines, *enginetest.Clock, *time.Duration) {
	clock, log, set := enginetest.AtMilli(1_772_323_200_000), &lines{}, new(time.Duration)
	elapsed := func() time.Duration { return time.Duration(clock.Now().UnixNano()) }
	return &upkeep{db: f, clock: wall{clock, set}, step: newSteps(wall{clock, set}, elapsed), log: slog.New(slog.NewTextHandler(log, nil)), doctor: "desk doctor"}, log, clock, set
}

func TestATroubleIsSaidOnceInAWhileAndWhenItIsOver(t *testing.T) {
	for trouble, words := range map[txfile.Trouble]string{txfile.Full: "the disk is full", txfile.Failing: "returns errors", txfile.Damaged: "desk doctor", txfile.Gone: "the server stops"} {
		t.Run(words, func(t *testing.T) {
			f := &troubled{trouble: trouble}
			u, log, clock, _ := newUpkeep(f)
			owed := 0
			u.owed, u.again = true, func(context.Context) error { owed++; return nil }
			said := func(errors, infos, done int) {
				t.Helper()
				if e, i := strings.Count(log.text(), "level=ERROR"), strings.Count(log.text(), "level=INFO"); e != errors || i != infos || owed != done {
					t.Errorf("%d errors, %d infos, done %d times; want %d, %d, %d: %s", e, i, owed, errors, infos, done, log.text())
				}
			}
			for range 5 {
				u.look(t.Context())
				clock.Advance(5 * time.Second)
			}
			said(1, 0, 0)
			if text := log.text(); !strings.Contains(text, words) || !strings.Contains(text, "the cause") {
				t.Errorf("%s", text)
			}
			clock.Advance(saidAgain)
			u.look(t.Context())
			said(2, 0, 0)
			// the others last until the next start
			if trouble != txfile.Full && trouble != txfile.Failing {
				return
			}
			f.repaired = true
			for range 3 {
				u.look(t.Context())
			}
			said(2, 2, 1) // that it is over, and that what was owed is done
			f.trouble, f.repaired = trouble, false
			u.look(t.Context())
			said(3, 2, 1)
		})
	}
}

func TestAClockThatIsSetIsNoticedAndWhatItLeavesAheadIsBroughtBack(t *testing.T) {
	f := &troubled{}
	u, log, clock, set := newUpkeep(f)
	round := func(step time.Duration) string {
		log.reset()
		f.recalled = nil
		clock.Advance(5 * time.Second)
		*set += step
		u.look(t.Context())
		return fmt.Sprint(f.recalled, strings.Contains(log.text(), "the clock was set"))
	}
	for _, c := range []struct {
		step time.Duration
		want string
	}{
		{0, "[] false"}, {500 * time.Millisecond, "[] false"}, {-time.Hour, "[1h0m0s] true"}, {0, "[] false"}, {time.Hour, "[] true"},
		{-time.Minute, "[1m0s] true"}, {0, "[] false"},
	} {
		if got := round(c.step); got != c.want {
			t.Errorf("a step of %s: %s, want %s", c.step, got, c.want)
		}
	}
	f.far = true // as another process left it, or this one before it was started
	if got := round(0); got != "[0s] false" {
		t.Errorf("something is far ahead: %s", got)
	}
	f.refuses = engine.ErrDisk
	round(-time.Minute)
	f.refuses = nil
	if got := round(0); !strings.HasPrefix(got, "[1m0s]") {
		t.Errorf("after a recall that failed: %s", got)
	}
	f.whole = 0
	for range 2 * wholeRound {
		round(0)
	}
	if f.whole != 2 {
		t.Errorf("all runs were looked at %d times in %d rounds", f.whole, 2*wholeRound)
	}
}

func TestWhatEveryUserOfAFailingStoreSaysIsNotLogged(t *testing.T) {
	said := &lines{}
	log := slog.New(newSparing(slog.NewTextHandler(said, nil))).With("thread", "thr_a")
	for _, c := range []struct {
		err  error
		want int
	}{{engine.ErrNoRoom, 0}, {engine.ErrDisk, 0}, {engine.ErrGone, 0}, {engine.ErrDamaged, 1}, {engine.ErrUnavailable, 3}} {
		said.reset()
		for range 3 {
			log.Warn("receiving failed", "error", fmt.Errorf("claiming: %w", c.err))
		}
		if text := said.text(); strings.Count(text, "receiving failed") != c.want || c.want > 0 && !strings.Contains(text, "thread=thr_a") {
			t.Errorf("%v: %s", c.err, text)
		}
	}
}

// A step whose lease looks over because the clock was set is not begun a second time beside itself.
func TestASetClockBeginsNoStepBesideItself(t *testing.T) {
	offset := time.Duration(0)
	p := &pool{offset: func() time.Duration { return offset }}
	a, b := engine.Wakeup{Tenant: "t", Thread: "a"}, engine.Wakeup{Tenant: "t", Thread: "b"}
	begins := func(w engine.Wakeup, want bool) {
		t.Helper()
		got := p.mayBegin(w)
		if got != want {
			t.Errorf("%+v: %v", w, got)
		}
		if got {
			p.begin(w)
		}
	}
	begins(a, true)
	begins(a, true) // its claim decides
	p.end(a)
	offset = time.Hour
	begins(a, false)
	begins(b, true)
	p.end(a)
	begins(a, true)
	p.end(a)
	p.end(b)
	if len(p.busy) != 0 {
		t.Errorf("%v", p.busy)
	}
}
