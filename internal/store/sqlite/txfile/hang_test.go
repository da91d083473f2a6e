package txfile

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// armed is a clock that tells of each timer.
type armed struct {
	*enginetest.Clock
	timers chan struct{}
}

func (a armed) AfterFunc(d time.Duration, f func()) (stop func()) {
	defer func() { a.timers <- struct{}{} }()
	return a.Clock.AfterFunc(d, f)
}

// A disk that neither answers nor fails keeps no caller waiting for ever, and counts as failing
// until it answers.
func TestAWriteThatHangsIsAnswered(t *testing.T) {
	clock := armed{enginetest.AtMilli(1000), make(chan struct{}, 10)}
	opts := options(t)
	opts.Clock, opts.watch, opts.Sync = clock, clock, dbfile.SyncOff
	f, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.f"), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	begun, disk := make(chan struct{}), make(chan struct{})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		first <- exec(t.Context(), f, func(*Tx) error { close(begun); <-disk; return nil })
	}()
	<-begun
	go func() { second <- exec(t.Context(), f, func(*Tx) error { return nil }) }()
	<-clock.timers
	<-clock.timers // both wait
	clock.Advance(hangsAfter + time.Second)
	if trouble, why := f.Trouble(); trouble != Failing || !errors.Is(why, engine.ErrDisk) {
		t.Errorf("after %s: %v, %v", hangsAfter, trouble, why)
	}
	clock.Advance(answerWithin)
	for _, answer := range []chan error{first, second} {
		if err := <-answer; !errors.Is(err, engine.ErrDisk) {
			t.Errorf("a write: %v", err)
		}
	}
	close(disk)
	if err := exec(t.Context(), f, func(*Tx) error { return nil }); err != nil {
		t.Error(err)
	}
	if trouble, why := f.Trouble(); trouble == Failing && !errors.Is(why, errHung) {
		t.Errorf("after the disk has answered: %v, %v", trouble, why)
	}
}

// What a read that failed once has left looks like damage, and is none.
func TestWhatIsNotDamagedIsServedAgain(t *testing.T) {
	f := openTemp(t)
	_ = f.note(engine.ErrDamaged)
	if trouble, _ := f.Trouble(); trouble != Damaged {
		t.Fatal(trouble)
	}
	if err := f.Recheck(t.Context()); err != nil {
		t.Error(err)
	}
	if trouble, why := f.Trouble(); trouble != NoTrouble {
		t.Error(trouble, why)
	}
	_ = f.note(engine.ErrDamaged)
	f.troubles.lasts = true
	if err := f.Recheck(t.Context()); !errors.Is(err, engine.ErrDamaged) {
		t.Errorf("what the start has found is forgotten: %v", err)
	}
}
