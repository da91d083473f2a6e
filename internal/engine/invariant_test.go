package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/invariant"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// meddled is a store that is sent broken heads: those of releases forget why the run waits or has
// ended, so many times.
type meddled struct {
	engine.Store
	times int
}

func (m *meddled) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if released := req.Next.Lease == 0 && req.Next.Status != core.RunRunning; released && m.times > 0 {
		m.times--
		req.Next.Calls, req.Next.End, req.Next.Deadline = nil, nil, 0
	}
	return m.Store.Commit(ctx, req)
}

func meddledRig(t *testing.T, times int) (*rig, *bytes.Buffer) {
	r, log := newRig(t, calls(call("c1", "pay", `{}`)), says("done")), &bytes.Buffer{}
	r.ask("pay")
	r.store = &meddled{r.db, times}
	r.build(engine.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	r.start("hi")
	return r, log
}

func TestARunWhoseWriteBreaksAnInvariantEndsWithErrorAndSaysSo(t *testing.T) {
	r, log := meddledRig(t, 1)
	r.work()
	r.wantRun(core.RunDone, core.Failed)
	if end := r.head().End; end.Code != "head_invariant" || !strings.Contains(end.Detail, string(invariant.WaitsForNothing)) {
		t.Errorf("ended %+v", end)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "rule=waits_for_nothing") || !strings.Contains(log.String(), "thread=thr_t") {
		t.Errorf("the log does not say it: %s", log)
	}
}

func TestAWriteThatIsRefusedForGoodFailsTheStepAndNothingIsWritten(t *testing.T) {
	r, log := meddledRig(t, 1<<30)
	var err error
	for range 5 {
		if _, err = r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread}); err != nil {
			break
		}
	}
	if broken, ok := errors.AsType[*invariant.Error](err); !ok || broken.Rule != invariant.DoneWithoutEnd {
		t.Fatalf("got %v", err)
	}
	if h := r.head(); h.Status != core.RunRunning || h.Lease == 0 || h.Due == 0 {
		t.Errorf("the run is %s, lease %d, due %d: nothing would find it again", h.Status, h.Lease, h.Due)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 2 {
		t.Errorf("%d errors in the log: %s", n, log)
	}
	r.store.(*meddled).times = 0 // a repaired program takes the run over
	r.recover()
	r.wantRun(core.RunWaiting, 0)
}
