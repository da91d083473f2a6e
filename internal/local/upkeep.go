package local

import (
	"context"
	"log/slog"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// upkeep looks after what the server stands on, every period: the files, their disk, and the clock.
// What it finds it says for the whole server, since everything that writes would say the same: see
// [sparing].
type upkeep struct {
	db     file
	clock  engine.Clock
	step   *steps
	period time.Duration
	log    *slog.Logger
	doctor string                      // the command that examines the store
	again  func(context.Context) error // stores what the start could not store
	owed   bool                        // again has to be called

	trouble txfile.Trouble // that the log was told of last
	said    time.Time      // when
	checked time.Time      // when it was looked last whether the store is damaged
	rounds  int
}

// file is what is known of the store's file: [sqlite.DB].
type file interface {
	Look() error
	Trouble() (txfile.Trouble, error)
	Probe(ctx context.Context) error
	Recheck(ctx context.Context) error
	FarAhead(ctx context.Context, whole bool) (bool, error)
	Recall(ctx context.Context, setBack time.Duration) (int, error)
}

const (
	saidAgain = 10 * time.Minute // how often the log says that a trouble lasts
	// one round in so many looks at all runs for times that are too far ahead
	wholeRound = 12
)

func (u *upkeep) run(ctx context.Context) {
	for {
		u.look(ctx)
		if engine.Sleep(ctx, u.clock, u.period) != nil {
			u.say(u.db.Trouble()) // it may be why the server ends
			return
		}
	}
}

// look does one round.
func (u *upkeep) look(ctx context.Context) {
	u.lookAtClock(ctx)
	_ = u.db.Look() // what it finds is a trouble
	trouble, why := u.db.Trouble()
	if trouble == txfile.Damaged {
		trouble, why = u.recheck(ctx)
	}
	if trouble == txfile.Full || trouble == txfile.Failing {
		if err := u.db.Probe(ctx); err != nil && why == nil {
			why = err
		}
		trouble, _ = u.db.Trouble()
	}
	u.say(trouble, why)
	if trouble == txfile.NoTrouble && u.owed {
		u.store(ctx)
	}
}

// recheckTime bounds a look at whether the store is damaged.
const recheckTime = 10 * time.Second

// recheckEvery is how often it is looked whether a store is still damaged.
const recheckEvery = time.Minute

// recheck looks whether the store is damaged, or a read of it failed once. Until it is known
// nothing is said of it.
func (u *upkeep) recheck(ctx context.Context) (txfile.Trouble, error) {
	now := u.clock.Now()
	if u.trouble == txfile.Damaged && now.Sub(u.checked) < recheckEvery {
		return u.db.Trouble()
	}
	u.checked = now
	short, stop := context.WithTimeout(ctx, recheckTime)
	defer stop()
	_ = u.db.Recheck(short)
	return u.db.Trouble()
}

// store does what the start could not do on a full disk.
func (u *upkeep) store(ctx context.Context) {
	err := u.again(ctx)
	if err == nil {
		u.owed = false
		u.log.Info("stored the agents that changed before the start; they are served now")
	} else if !noRoom(err) && ctx.Err() == nil {
		u.log.Warn("cannot store agents that changed before the start; retrying", "error", err)
	}
}

// say logs that a trouble began, lasts or is over.
func (u *upkeep) say(now txfile.Trouble, why error) {
	at := u.clock.Now()
	if now == u.trouble && (now == txfile.NoTrouble || at.Sub(u.said) < saidAgain) {
		return
	}
	before := u.trouble
	u.trouble, u.said = now, at
	switch now {
	case txfile.Full:
		u.log.Error("the disk is full: reads and the inbox are served, writes are refused until there is space", "error", why)
	case txfile.Failing:
		u.log.Error("the disk returns errors or does not respond: check the disk and the system log; writes that fail are refused", "error", why)
	case txfile.Damaged:
		u.log.Error("the store is damaged: stop the server and examine its data directory; undamaged runs are served",
			"error", why, "examine", u.doctor)
	case txfile.Gone:
		u.log.Error("the data directory is no longer the one that the server opened: the server stops, because new data would be lost", "error", why)
	case txfile.NoTrouble:
		if before == txfile.Full {
			u.log.Info("the disk has space again; everything is served")
		} else {
			u.log.Info("the disk works again; everything is served")
		}
	}
}

// lookAtClock corrects stored times that are too far ahead of the clock: because the clock was set
// back, or because they were stored while it was ahead.
func (u *upkeep) lookAtClock(ctx context.Context) {
	by := u.step.since()
	if by != 0 {
		u.log.Warn("the clock was set, or the machine slept: stored times are compared with the new time", "by", by.String())
	}
	u.rounds++
	if by >= 0 {
		far, err := u.db.FarAhead(ctx, by != 0 || u.rounds%wholeRound == 1)
		if err != nil || !far {
			return
		}
	}
	changed, err := u.db.Recall(ctx, max(0, -by))
	switch {
	case err != nil:
		u.step.forget(by) // it is tried again
		u.log.Warn("cannot correct times stored too far ahead of the clock; retrying", "error", err)
	case changed > 0:
		u.log.Warn("corrected times that were stored too far ahead of the clock", "entries", changed)
	}
}

// leastStep is the smallest step of the clock that is noticed. Corrections that pull a clock are
// slower than that.
const leastStep = time.Second

// steps notices that the wall clock was set: it moved otherwise than a clock that cannot be set.
type steps struct {
	clock   engine.Clock
	elapsed func() time.Duration
	offset  time.Duration // of the wall clock at the last look
}

func newSteps(clock engine.Clock, elapsed func() time.Duration) *steps {
	s := &steps{clock: clock, elapsed: elapsed}
	s.offset = s.now()
	return s
}

// now is the offset of the wall clock from the one that cannot be set. It is the same at two times
// between which the clock was not set.
func (s *steps) now() time.Duration {
	return time.Duration(s.clock.Now().UnixNano()) - s.elapsed()
}

// since is by how much the clock was set since the last call; zero if it was not.
func (s *steps) since() time.Duration {
	now := s.now()
	by := now - s.offset
	s.offset = now
	if by.Abs() < leastStep {
		return 0
	}
	return by.Round(time.Millisecond)
}

// forget makes the next since find the step again.
func (s *steps) forget(by time.Duration) { s.offset -= by }
