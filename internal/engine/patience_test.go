package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// down is a store whose commits fail until a time.
type down struct {
	engine.Store
	clock *enginetest.Clock
	until time.Time
	err   error
	tried int
}

func (d *down) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if d.tried++; d.clock.Now().Before(d.until) {
		return engine.Written{}, d.err
	}
	return d.Store.Commit(ctx, req)
}

// An owner that lives sends its commit again, for as long as it is patient: the run does not wait
// for its lease.
func TestALivingOwnerOutwaitsAnErrorThatPasses(t *testing.T) {
	const patience = 30 * time.Second
	for _, c := range []struct {
		err      error
		lasts    time.Duration
		survived bool
		atMost   time.Duration // that the step takes
	}{
		{engine.ErrUnavailable, time.Second, true, 4 * time.Second},
		{engine.ErrDisk, 25 * time.Second, true, 28 * time.Second},
		{engine.ErrNoRoom, 25 * time.Second, true, 28 * time.Second},
		{engine.ErrDisk, time.Hour, false, 33 * time.Second},
		{engine.ErrDamaged, time.Hour, false, 0},
		{engine.ErrGone, time.Hour, false, 0},
		{engine.ErrDenied, time.Hour, false, 0},
		{fmt.Errorf("%w: %w", engine.ErrUnavailable, engine.ErrUnreadable), time.Hour, false, 0},
	} {
		t.Run(fmt.Sprint(c.err, " for ", c.lasts), func(t *testing.T) {
			r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
			r.allow("pay")
			r.start("go")
			began := r.clock.Now()
			failing := &down{Store: r.db, clock: r.clock, until: began.Add(c.lasts), err: c.err}
			r.store = failing
			r.build(engine.Options{Clock: restless{r.clock}, Patience: patience})
			_, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
			took := r.clock.Now().Sub(began)
			if (err == nil) != c.survived || err != nil && !errors.Is(err, c.err) || took > c.atMost {
				t.Errorf("after %s: %v", took, err)
			}
			if !c.survived {
				if c.atMost == 0 && failing.tried != 1 {
					t.Errorf("an error that does not pass was tried %d times", failing.tried)
				}
				return
			}
			if h := r.head(); h.Epoch != 1 || h.Lease != 0 || h.Tries != 0 {
				t.Errorf("epoch %d, lease %d, tries %d", h.Epoch, h.Lease, h.Tries)
			}
			r.work()
			r.wantRun(core.RunDone, core.NaturalEnd)
			r.wantRan("pay{}")
		})
	}
}
