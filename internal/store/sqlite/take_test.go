package sqlite_test

import (
	"database/sql"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

type everyPlace struct{}

func (everyPlace) Take(string) bool { return true }
func (everyPlace) Free(string)      {}

// taking is a store with one run that has a wake-up.
func taking(t *testing.T) (db *sqlite.DB, path string, take func(claim string) engine.Taken) {
	t.Helper()
	path = newFile(t)
	db = open(t, path, options(t, enginetest.AtMilli(1000)))
	head := core.Head{Identity: core.Identity{Tenant: "acme", Thread: "thr_a", Run: core.RunID("thr_a", 0), Agent: "desk", Version: "sha256:1", Schema: core.SchemaAlone},
		Position: core.Position{Sigs: 1}, Inbox: map[string]core.Signal{core.KeyStart: {Kind: core.SignalMessage, ID: "hi"}}}
	if _, err := db.Start(t.Context(), engine.StartRequest{Head: head, Due: 6000, Wake: &engine.Delay{}}); err != nil {
		t.Fatal(err)
	}
	return db, path, func(claim string) engine.Taken {
		t.Helper()
		taken, some, err := db.TakeFor(t.Context(), everyPlace{}, func(w engine.Wakeup) *engine.ClaimRequest {
			if claim == "" {
				return nil
			}
			return &engine.ClaimRequest{Tenant: w.Tenant, Thread: w.Thread, Claim: claim, Now: 1000, LeaseEnd: 9000, Due: 10_000, Schema: core.SchemaVersion}
		})
		if err != nil || !some || taken.Thread != "thr_a" {
			t.Fatalf("%+v, %v, %v", taken, some, err)
		}
		return taken
	}
}

func TestAMessageIsReceivedAndItsRunClaimedInOneTransaction(t *testing.T) {
	t.Parallel()
	db, _, take := taking(t)
	before := db.Stats().Commits
	taken := take("w1")
	if h := taken.Head; h.Claim != "w1" || h.Epoch != 1 || h.Lease != 9000 || len(h.Inbox) != 1 {
		t.Errorf("%+v", h)
	}
	if n := db.Stats().Commits - before; n != 1 {
		t.Errorf("%d transactions", n)
	}
}

func TestAMessageWhoseRunIsNotClaimedIsReceivedAllTheSame(t *testing.T) {
	t.Parallel()
	t.Run("none is wanted", func(t *testing.T) {
		_, _, take := taking(t)
		if taken := take(""); taken.Head.Thread != "" {
			t.Errorf("%+v", taken.Head)
		}
	})
	t.Run("another owner has it", func(t *testing.T) {
		db, _, take := taking(t)
		if err := db.Send(t.Context(), engine.Wakeup{Tenant: "acme", Thread: "thr_a"}, 0); err != nil {
			t.Fatal(err)
		}
		take("w1")
		if taken := take("w2"); taken.Head.Thread != "" {
			t.Errorf("%+v", taken.Head)
		}
	})
	t.Run("its head cannot be read", func(t *testing.T) {
		db, path, take := taking(t)
		raw, err := sql.Open("sqlite", dbfile.DataSource(path, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if _, err := raw.Exec("UPDATE heads SET body = 'torn'"); err != nil {
			t.Fatal(err)
		}
		if taken := take("w1"); taken.Head.Thread != "" {
			t.Errorf("%+v", taken.Head)
		}
		var epoch int
		if err := raw.QueryRow("SELECT epoch FROM heads").Scan(&epoch); err != nil || epoch != 0 {
			t.Errorf("epoch %d, %v", epoch, err)
		}
		if got, err := db.Receive(t.Context(), 1); err != nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
	})
}
