package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// rolledBack is a store whose heads a newer version wrote.
type rolledBack struct{ engine.Store }

func (s rolledBack) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	h, err := s.Store.Load(ctx, req.Tenant, req.Thread)
	h.Schema = core.SchemaVersion + 1
	return h, errors.Join(err, engine.ErrNewerSchema)
}

// After a rollback the older version leaves the newer one's runs as they are, and its log says
// which.
func TestARunOfANewerVersionIsLeftAloneAndNamedInTheLog(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
	r.ask("pay")
	r.start("hi")
	r.work()
	r.must(r.decide("c1", resume("d", `true`)))
	before, store := r.head(), r.store
	var log bytes.Buffer
	r.store = rolledBack{store}
	r.build(engine.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: before.Tenant, Thread: before.Thread})
	if !errors.Is(err, engine.ErrNewerSchema) || !strings.Contains(log.String(), before.Run) || !strings.Contains(log.String(), "a newer version of the program wrote this run") {
		t.Errorf("%v, log %s", err, &log)
	}
	if now := r.head(); now.Rev != before.Rev || len(now.Inbox) != 1 {
		t.Errorf("revision %d became %d, inbox %v", before.Rev, now.Rev, now.Inbox)
	}
	r.store = store
	r.build(engine.Options{})
	r.work()
	r.wantRun(core.RunDone, core.NaturalEnd)
	r.wantRan("pay{}")
}
