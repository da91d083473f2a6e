package ops_test

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/ops"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

const tenant = "default"

// desk is a tenant over a real store, and a worker.
type desk struct {
	*testing.T
	*ops.Desk
	front  *frontend.Frontend
	worker frontendtest.Worker
	clock  *frontendtest.Clock
	caller frontend.Caller
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	store, _ := sqlitetest.Open(t, clock, random)
	front := frontend.New(frontend.Options{Store: store, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{}, Clock: clock, Random: random, TenantDay: 2_000_000,
		DayBudget: func(_ context.Context, d engine.Definition) (core.USD, error) { return 1_000_000, nil }})
	return &desk{t, ops.New(front, nil), front, frontendtest.Worker{Test: t, Store: store, Clock: clock, Random: random, Tenant: tenant}, clock,
		frontend.Caller{Tenant: tenant, By: "token:olga", Roles: []access.Role{access.Admin}}}
}

func (d *desk) start() string {
	d.Helper()
	started, err := d.front.Start(d.Context(), d.caller, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`)})
	if err != nil {
		d.Fatal(err)
	}
	return started.Run.ID
}

func (d *desk) read() wire.Ops {
	d.Helper()
	now, err := d.Read(d.Context(), d.caller)
	if err != nil {
		d.Fatal(err)
	}
	return now
}

func (d *desk) later(by time.Duration) { d.clock.AfterFunc(by, func() {}) }

func TestNumbersOfATenant(t *testing.T) {
	d := newDesk(t)
	if now := d.read(); now.Waiting.Count+now.Started.Count != 0 || now.OldestSince != nil || len(now.Hours) != 24 {
		t.Fatalf("nothing happened: %+v", now)
	}
	old := d.clock.Now()
	d.worker.Suspend(d.start(), frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval, Deadline: old.Add(27 * time.Hour).UnixMilli()})
	d.later(25 * time.Hour)
	d.worker.Suspend(d.start(), frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval}, frontendtest.Call{ID: "c2", Tool: "say", Kind: core.KindInput})
	d.worker.Suspend(d.start(), frontendtest.Call{ID: "c1", Tool: "pick", Kind: core.KindClient})
	d.worker.End(d.start(), core.Reason{Kind: core.Failed, Code: "boom"}, "")
	d.worker.Finish(d.start(), "done")
	now := d.read()
	if now.Waiting != (wire.OpsCount{Count: 3}) || now.Due != (wire.OpsCount{Count: 1}) || now.OldestSince == nil || now.OldestSince.Sub(old).Abs() > time.Minute {
		t.Errorf("waiting %+v, due %+v, since %v; want 3, 1, since %v", now.Waiting, now.Due, now.OldestSince, old)
	}
	if now.Started != (wire.OpsCount{Count: 4}) || now.Failed != (wire.OpsCount{Count: 1}) {
		t.Errorf("started %+v, failed %+v; the run of yesterday counts, or one is missing", now.Started, now.Failed)
	}
	last := now.Hours[23]
	if last.Started != 4 || last.Failed != 1 || last.Waiting != 1 || last.From.After(d.clock.Now()) || d.clock.Now().Sub(last.From.Time) >= time.Hour {
		t.Errorf("the last hour: %+v", last)
	}
	if len(now.Budgets) != 2 || now.Budgets[0].Agent != "" || now.Budgets[0].Limit.USD != "2.00" || now.Budgets[1].Agent != "desk" || now.Budgets[1].Limit.USD != "1.00" {
		t.Errorf("budgets %+v", now.Budgets)
	}
	other := d.caller
	other.Tenant = "other"
	if theirs, err := d.Read(t.Context(), other); err != nil || theirs.Waiting.Count+theirs.Started.Count != 0 {
		t.Errorf("another tenant: %+v, %v", theirs, err)
	}
}

// However much there is, so much is read.
func TestCountsThatStopSaySo(t *testing.T) {
	d := newDesk(t)
	for range 501 {
		d.start()
	}
	if now := d.read(); now.Started != (wire.OpsCount{Count: 500, AtLeast: true}) || !now.Failed.AtLeast || now.Waiting.AtLeast {
		t.Errorf("%+v, %+v, %+v", now.Started, now.Failed, now.Waiting)
	}
}
