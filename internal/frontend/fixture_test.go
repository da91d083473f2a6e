package frontend_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

var anna = frontend.Caller{Tenant: "default", By: "anna"}

// fixture is a frontend over a real store, and a worker to put runs into states.
type fixture struct {
	*query.Reader
	t      *testing.T
	store  *sqlite.DB
	clock  *frontendtest.Clock
	random *frontendtest.Random
	waker  *frontendtest.Waker
	worker frontendtest.Worker
	path   string // of the store

	check       func(call core.ToolCall) error // of edited arguments
	editedNotBy string                         // whom the rules about edited arguments bar
	narrow      func(raw json.RawMessage) error
	quota       quota.Bounds // of the next frontend
	front       func(*frontend.Options)
}

// newFixture wraps the store, if wrap is given, before the frontend gets it.
func newFixture(t *testing.T, wrap func(frontend.Store) frontend.Store) *fixture {
	t.Helper()
	return newFixtureOver(t, wrap, nil)
}

// newFixtureWith is for a frontend with other options.
func newFixtureWith(t *testing.T, front func(*frontend.Options)) *fixture {
	t.Helper()
	return newFixtureOver(t, nil, front)
}

func newFixtureOver(t *testing.T, wrap func(frontend.Store) frontend.Store, front func(*frontend.Options)) *fixture {
	t.Helper()
	x := &fixture{t: t, clock: frontendtest.NewClock(), random: &frontendtest.Random{}, waker: &frontendtest.Waker{}, front: front}
	x.store, x.path = sqlitetest.Open(t, x.clock, x.random)
	x.worker = frontendtest.Worker{Test: t, Store: x.store, Clock: x.clock, Random: x.random, Tenant: anna.Tenant}
	x.Reader = x.over(x.store, wrap)
	return x
}

func openStore(t *testing.T, path string, x *fixture) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: x.clock, Random: x.random, Sync: dbfile.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func (x *fixture) over(db *sqlite.DB, wrap func(frontend.Store) frontend.Store) *query.Reader {
	var store frontend.Store = db
	if wrap != nil {
		store = wrap(db)
	}
	opts := frontend.Options{Store: store, Catalog: frontendtest.NewCatalog("desk"), Waker: x.waker,
		Clock: x.clock, Random: x.random, Quota: x.quota,
		Check: func(_ context.Context, _ engine.Pin, call core.ToolCall) (notBy string, err error) {
			if x.check != nil {
				err = x.check(call)
			}
			return x.editedNotBy, err
		},
		Narrow: func(raw json.RawMessage) error {
			if x.narrow == nil {
				return nil
			}
			return x.narrow(raw)
		}}
	if x.front != nil {
		x.front(&opts)
	}
	return query.New(frontend.New(opts))
}

func (x *fixture) start() wire.Run {
	x.t.Helper()
	s, err := x.Start(x.t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(`"refund A-17"`)})
	if err != nil {
		x.t.Fatal(err)
	}
	return s.Run
}

// waiting starts a run and suspends one call of the given kind.
func (x *fixture) waiting(kind core.Kind) (run wire.Run, sus string) {
	x.t.Helper()
	run = x.start()
	return run, x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: kind})["c1"]
}

func (x *fixture) decide(run, target string, d wire.Decision) (wire.DecisionAnswer, error) {
	d.Target = target
	return x.Decide(x.t.Context(), anna, run, d)
}

func (x *fixture) head(thread string) core.Head {
	x.t.Helper()
	h, err := x.store.Load(x.t.Context(), anna.Tenant, thread)
	if err != nil {
		x.t.Fatal(err)
	}
	return h
}

func (x *fixture) wantCode(err error, want refusal.Code) *refusal.Error {
	x.t.Helper()
	var e *refusal.Error
	if !errors.As(err, &e) {
		x.t.Fatalf("got %v, want %s", err, want)
	}
	if e.Code != want {
		x.t.Fatalf("got %s (%s), want %s", e.Code, e.Detail, want)
	}
	return e
}

// answered is a decision's answer in one word.
func answered(a wire.DecisionAnswer, err error) string {
	var e *refusal.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	if err != nil {
		return err.Error()
	}
	if a.Same != nil && *a.Same {
		return "same"
	}
	return a.Code
}

func (x *fixture) want(a wire.DecisionAnswer, err error, want string) {
	x.t.Helper()
	if got := answered(a, err); got != want {
		x.t.Fatalf("got %s (%v), want %s", got, err, want)
	}
}

// undecided runs f and demands that no signal was stored but word of a decision that was refused
// because of its caller.
func (x *fixture) undecided(thread string, f func()) {
	x.t.Helper()
	decisions := func() (n int) {
		for _, s := range x.head(thread).Inbox {
			if s.Kind != core.SignalRefused {
				n++
			}
		}
		return n
	}
	before := decisions()
	f()
	if after := decisions(); before != after {
		x.t.Fatalf("%d signals wait, %d before", after, before)
	}
}

// unchanged runs f and demands that no signal was stored.
func (x *fixture) unchanged(thread string, f func()) {
	x.t.Helper()
	before := x.head(thread)
	f()
	after := x.head(thread)
	if before.Sigs != after.Sigs || len(before.Inbox) != len(after.Inbox) || before.Rev != after.Rev {
		x.t.Fatalf("something was stored: sigs %d to %d", before.Sigs, after.Sigs)
	}
}
